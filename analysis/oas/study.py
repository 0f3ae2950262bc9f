"""What the outcomes of a labelling job say about packing: fixed actions, learned policies, their limits.

Whatever is undefined, because there are too few questions for it, is None and named in `undefined`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memsif_ray.packing.actions import ACTIONS, Action
from memsif_ray.packing.crossfit import CrossFitted, cross_fit
from memsif_ray.packing.evaluation import (
    PolicyRow,
    ReliabilityRow,
    StratumRow,
    by_fit,
    compare,
    policies_of,
    reliability,
)
from memsif_ray.packing.folds import PAPER_SPLIT, partition
from memsif_ray.packing.mlp import ActionUtilityMLP
from memsif_ray.packing.router import Router
from memsif_ray.packing.training import train_router
from memsif_ray.packing.transfer import HARM_CAP, Transfer, transfer
from memsif_ray.packing.utilities import Utilities
from memsif_ray.statistics.differences import Difference, paired
from memsif_ray.storage.labels import Labels

FOLDS = 5
MLP = "mlp"
"""The control's name among the policies."""


@dataclass(frozen=True, slots=True)
class Accuracy:
    """Mean utility of one action at one budget, with its bootstrap interval in `mean`."""

    action: Action
    budget: int
    mean: Difference


@dataclass(frozen=True, slots=True)
class Split:
    """One division of the questions, and what came of it on the last part."""

    sizes: tuple[int, ...]
    result: Transfer


@dataclass(frozen=True, slots=True, eq=False)
class OasStudy:
    """Everything that is reported.

    Attributes:
        labels: What was learned from.
        accuracies: Of the fixed actions.
        policies: Every policy at every budget; those learned are cross-fitted.
        strata: Actions by how much of the evidence fits.
        fitted: The cross-fitted router.
        calibration: How well its predicted utilities came true.
        mlp_gains: Budget → what the control gains over ridge; None is the mean over budgets.
        split: Fit, calibrated and tested once.
        history: The same with retrieved candidates and a harm cap of its own.
        router: Fitted and calibrated on the first two parts of the split, to be used.
        undefined: What there is not, and why.
    """

    labels: Labels
    accuracies: Sequence[Accuracy]
    policies: Sequence[PolicyRow]
    strata: Sequence[StratumRow]
    fitted: CrossFitted | None
    calibration: Sequence[ReliabilityRow]
    mlp_gains: dict[int | None, Difference]
    split: Split | None
    history: Split | None
    router: Router
    undefined: tuple[str, ...]

    @property
    def budgets(self) -> list[int]:
        """Ascending."""
        return budgets_of(self.labels.data)


def study(
    labels: Labels,
    *,
    history: Labels | None = None,
    split: Sequence[int] = PAPER_SPLIT,
    mlp: bool = False,
    seed: int = 2026,
) -> OasStudy:
    """Compute all of it.

    Args:
        labels: Of the controlled job.
        history: Of one with retrieved candidates, for the full-history transfer test.
        split: Questions to fit, calibrate and test on; scaled down in proportion when there are fewer.
        mlp: Whether to cross-fit the control, too, which takes minutes.
        seed: Of every draw.
    """
    data, undefined = labels.data, list[str]()
    questions = len(labels.questions)
    fitted = control = None
    if questions >= FOLDS:
        fitted = cross_fit(data, folds=FOLDS, seed=seed)
        control = cross_fit(data, make=ActionUtilityMLP, folds=FOLDS, seed=seed) if mlp else None
    else:
        undefined.append(f"cross-fitted policies: {questions} question(s) cannot fill {FOLDS} folds")
    chosen = policies_of(data, fitted) | ({MLP: control.chosen["router"]} if control else {})
    parts = _parts(labels, split, seed)
    held_out = _split("controlled split", labels, split, seed, 0.0, undefined)
    full = _split("full-history split", history, split, seed, HARM_CAP, undefined) if history else None
    if history is None:
        undefined.append("full-history transfer: no labels with retrieved candidates were given")
    return OasStudy(
        labels,
        _accuracies(data, seed),
        compare(data, chosen, seed=seed),
        by_fit(data, seed=seed),
        fitted,
        reliability(data, fitted.predicted) if fitted else [],
        _mlp_gains(data, fitted, control, seed),
        held_out,
        full,
        _router(data, parts),
        tuple(undefined),
    )


def budgets_of(data: Utilities) -> list[int]:
    """Ascending."""
    return sorted({int(budget) for budget in data.budgets})


def scaled(split: Sequence[int], questions: int) -> tuple[int, ...]:
    """The split, or one in proportion where there are fewer questions; what rounding leaves is fitted on."""
    if questions >= sum(split):
        return tuple(split)
    rest = [round(size * questions / sum(split)) for size in split[1:]]
    return (questions - sum(rest), *rest)


def _parts(labels: Labels, split: Sequence[int], seed: int) -> tuple[tuple[str, ...], ...]:
    sizes = scaled(split, len(labels.questions))
    return partition(labels.questions, sizes, seed=seed, strata=labels.types)


def _split(
    name: str, labels: Labels, split: Sequence[int], seed: int, max_harm: float, undefined: list[str]
) -> Split | None:
    parts = _parts(labels, split, seed)
    sizes = tuple(map(len, parts))
    if not all(sizes):
        undefined.append(
            f"{name}: {len(labels.questions)} question(s) cannot be fitted, calibrated and tested on"
        )
        return None
    fit, calibrate, gate = parts
    result = transfer(labels.data, fit=fit, calibrate=calibrate, gate=gate, max_harm=max_harm, seed=seed)
    return Split(sizes, result)


def _router(data: Utilities, parts: Sequence[Sequence[str]]) -> Router:
    fit, calibrate = (data.where(np.isin(data.questions, list(part))) for part in parts[:2])
    return train_router(fit, calibration=calibrate if len(calibrate) else None)


def _accuracies(data: Utilities, seed: int) -> list[Accuracy]:
    found: list[Accuracy] = []
    for budget in budgets_of(data):
        part = data.where(np.asarray(data.budgets == budget))
        for i, action in enumerate(ACTIONS):
            mean = paired(part.values[:, i], part.questions, seed=seed + len(found))
            found.append(Accuracy(action, budget, mean))
    return found


def _mlp_gains(
    data: Utilities, fitted: CrossFitted | None, control: CrossFitted | None, seed: int
) -> dict[int | None, Difference]:
    if fitted is None or control is None:
        return {}
    rows = np.arange(len(data))
    gain = data.values[rows, control.chosen["router"]] - data.values[rows, fitted.chosen["router"]]
    found: dict[int | None, Difference] = {}
    for budget in (*budgets_of(data), None):
        mask = np.ones(len(data), dtype=bool) if budget is None else np.asarray(data.budgets == budget)
        found[budget] = paired(gain[mask], data.questions[mask], seed=seed + len(found))
    return found
