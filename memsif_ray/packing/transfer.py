"""The stricter test: fit, calibrate and judge on three sets of questions of full histories (OAS, 7.6).

Candidates come from retrieval, so features hold no trace of gold evidence; every choice is frozen before
the gate's outcomes are looked at; and harm is capped by a number of its own, set beforehand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from memsif_ray.packing.crossfit import Fitted
from memsif_ray.packing.evaluation import PolicyRow, compare, policies_of
from memsif_ray.packing.ridge import ActionUtilityRidge
from memsif_ray.packing.training import MakeLearner
from memsif_ray.packing.utilities import Utilities
from memsif_ray.statistics.intervals import SEED

HARM_CAP = 0.05
"""Largest share of harmful replacements in calibration. The paper has a cap too, but does not give it."""


@dataclass(frozen=True, slots=True)
class Transfer:
    """What came of it on the gate's questions.

    Attributes:
        rows: Every policy at every budget; those without a budget are the macro means.
        thresholds: Budget → safe threshold.
        harmful: Policy → number of instances for which it did worse than retention.
    """

    rows: list[PolicyRow]
    thresholds: dict[int, float]
    harmful: dict[str, int]


def transfer(
    data: Utilities,
    *,
    fit: Sequence[str],
    calibrate: Sequence[str],
    gate: Sequence[str],
    make: MakeLearner = ActionUtilityRidge,
    max_harm: float = HARM_CAP,
    seed: int = SEED,
) -> Transfer:
    """Learn on `fit`, set thresholds on `calibrate`, report on `gate`; question ids, disjoint.

    `packing.folds.partition` with `strata` draws them.

    Raises:
        ValueError: When a question has two roles, or a role has no row.
    """
    if len({*fit, *calibrate, *gate}) != len(fit) + len(calibrate) + len(gate):
        raise ValueError("a question has two roles")
    parts = [data.where(np.isin(data.questions, list(role))) for role in (fit, calibrate, gate)]
    if not all(map(len, parts)):
        raise ValueError("fit, calibrate and gate must each have a row")
    fitted = Fitted.on(parts[0], parts[1], make=make, max_harm=max_harm)
    tested = parts[2]
    policies = policies_of(tested) | fitted.policies(tested)
    rows = compare(tested, policies, seed=seed)
    harmful = {row.policy: round(row.harm * len(tested)) for row in rows if row.budget is None}
    return Transfer(rows, fitted.safety.thresholds_, harmful)
