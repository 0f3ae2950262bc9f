"""How good packing policies are on outcomes that are known for all four actions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from memsif_ray.packing.actions import ACTIONS, Action, Floats, Ints, best_actions
from memsif_ray.packing.crossfit import CrossFitted
from memsif_ray.packing.folds import Labels, Mask
from memsif_ray.packing.utilities import Utilities
from memsif_ray.statistics.differences import Difference, paired
from memsif_ray.statistics.intervals import SEED

STRATA = ("none", "partial", "full")
"""How much of the evidence retention packs: f_B = 0, between, and 1."""
_EQUAL = 1e-12


@dataclass(frozen=True, slots=True)
class PolicyRow:
    """One policy at one budget.

    Attributes:
        policy: An action's name, `router`, `router-safe`, `best-fixed`, `best-per-budget` or `oracle`.
        budget: Tokens; None is the mean over a question's budgets.
        n: Questions.
        accuracy: Mean utility.
        gain: Over retention, paired by question.
        help: Share of instances that did better than by retention.
        harm: Share that did worse.
        shares: How often each action was chosen, in the order of `ACTIONS`.
    """

    policy: str
    budget: int | None
    n: int
    accuracy: float
    gain: Difference
    help: float
    harm: float
    shares: tuple[float, ...]


@dataclass(frozen=True, slots=True)
class StratumRow:
    """One action among the instances of one budget whose evidence fits to one degree."""

    budget: int
    stratum: str
    action: Action
    n: int
    accuracy: float
    gain: Difference


@dataclass(frozen=True, slots=True)
class ReliabilityRow:
    """Instances whose utility by one action was predicted alike: what was predicted, and what came out."""

    action: Action
    n: int
    predicted: float
    realised: float


@dataclass(frozen=True, slots=True)
class Bound:
    """The plug-in bound on known utilities: `holds` if no instance lost more than 2ε (OAS, 6.1)."""

    epsilon: float
    worst_loss: float
    holds: bool


def policies_of(data: Utilities, fitted: CrossFitted | None = None) -> dict[str, Ints]:
    """Action index per row of the four fixed policies, the learned ones, and the hindsight oracle."""
    fixed = {str(action): np.full(len(data), i, dtype=np.int64) for i, action in enumerate(ACTIONS)}
    learned = fitted.chosen if fitted is not None else {}
    return {**fixed, **learned, "oracle": best_actions(data.values)}


def outcomes(data: Utilities, chosen: Ints) -> Floats:
    """Utility of the chosen action, shape (n,)."""
    return np.asarray(data.values[np.arange(len(data)), chosen])


def compare(data: Utilities, policies: Mapping[str, Ints], *, seed: int = SEED) -> list[PolicyRow]:
    """Every policy at every budget, then over all of them; comparison k is resampled with seed + k."""
    budgets = [*sorted({int(budget) for budget in data.budgets}), None]
    cases = [(name, budget) for name in policies for budget in budgets]
    return [
        _policy_row(data, policies[name], name=name, budget=budget, seed=seed + k)
        for k, (name, budget) in enumerate(cases)
    ]


def by_fit(data: Utilities, *, seed: int = SEED) -> list[StratumRow]:
    """Every action at every budget, apart by whether none, some or all of the evidence fits."""
    cells = [
        (budget, stratum, i)
        for budget in sorted({int(one) for one in data.budgets})
        for stratum in STRATA
        for i in range(len(ACTIONS))
    ]
    fit = strata_of(data)
    rows = []
    for k, (budget, stratum, i) in enumerate(cells):
        inside = data.where((data.budgets == budget) & (fit == stratum))
        if len(inside):
            gain = paired(inside.gains[:, i], inside.questions, seed=seed + k)
            accuracy = float(inside.values[:, i].mean())
            rows.append(StratumRow(budget, stratum, ACTIONS[i], len(inside), accuracy, gain))
    return rows


def strata_of(data: Utilities) -> Labels:
    """The stratum of each row, shape (n,)."""
    fraction = data.feature("fit_fraction")
    return np.where(fraction <= 0, STRATA[0], np.where(fraction >= 1, STRATA[2], STRATA[1]))


def reliability(data: Utilities, predicted: Floats, *, bins: int = 5) -> list[ReliabilityRow]:
    """Per action, instances in `bins` groups of equal size from the least to the most promising."""
    rows = []
    for i, action in enumerate(ACTIONS):
        order = np.argsort(predicted[:, i], kind="stable")
        for part in np.array_split(order, bins):
            if len(part):
                means = float(predicted[part, i].mean()), float(data.values[part, i].mean())
                rows.append(ReliabilityRow(action, len(part), *means))
    return rows


def plug_in_bound(conditional: ArrayLike, predicted: ArrayLike) -> Bound:
    """Check on known conditional utilities that acting on ε-accurate ones loses at most 2ε.

    Args:
        conditional: True mean utilities, shape (n, actions). Realised outcomes would not do.
        predicted: Shape (n, actions).
    """
    true, guess = np.asarray(conditional, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    epsilon = float(np.abs(true - guess).max())
    lost = true.max(axis=1) - true[np.arange(len(true)), best_actions(guess)]
    worst = float(lost.max())
    return Bound(epsilon, worst, worst <= 2 * epsilon + _EQUAL)


def _policy_row(data: Utilities, chosen: Ints, *, name: str, budget: int | None, seed: int) -> PolicyRow:
    mask: Mask = np.ones(len(data), dtype=bool) if budget is None else np.asarray(data.budgets == budget)
    part, actions = data.where(mask), chosen[mask]
    values = outcomes(part, actions)
    gains = values - part.values[:, 0]
    return PolicyRow(
        policy=name,
        budget=budget,
        n=len(set(part.questions)),
        accuracy=float(values.mean()),
        gain=paired(gains, part.questions, seed=seed),
        help=float((gains > _EQUAL).mean()),
        harm=float((gains < -_EQUAL).mean()),
        shares=tuple(_shares(actions)),
    )


def _shares(actions: Ints) -> Iterator[float]:
    return (float((actions == i).mean()) for i in range(len(ACTIONS)))
