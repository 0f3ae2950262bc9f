"""Grouped five-fold cross-fitting: in each rotation a question has one role only (OAS, 7.3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from memsif_ray.packing.actions import ACTIONS, Floats, Ints, best_actions
from memsif_ray.packing.folds import rotations
from memsif_ray.packing.ridge import ActionUtilityRidge
from memsif_ray.packing.safety import SafetyThreshold
from memsif_ray.packing.training import Learner, MakeLearner, calibrated
from memsif_ray.packing.utilities import Utilities


@dataclass(frozen=True, slots=True, eq=False)
class CrossFitted:
    """What routers that never saw a question say about it.

    Attributes:
        predicted: Utilities, shape (n, 4).
        chosen: Action index per row of every learned policy, each shape (n,): `router`, `router-safe`, and,
            picked on the same fitting questions, `best-fixed` and `best-per-budget`.
        fold: Number of the rotation that tested the row, shape (n,).
        thresholds: Per rotation, budget → safe threshold.
    """

    predicted: Floats
    chosen: dict[str, Ints]
    fold: Ints
    thresholds: tuple[dict[int, float], ...]


def cross_fit(
    data: Utilities,
    *,
    make: MakeLearner = ActionUtilityRidge,
    max_harm: float = 0.0,
    folds: int = 5,
    seed: int = 2026,
) -> CrossFitted:
    """Fit on three folds, calibrate on one, test on the last, and rotate until every row was tested.

    Args:
        data: With every feature and utility; `data.usable()` has only such rows.
        make: Gives a new unfitted learner.
        max_harm: See `SafetyThreshold`.
        folds: At least 3.
        seed: Decides which questions share a fold.

    Raises:
        ValueError: When there are fewer questions than folds.
    """
    n = len(data)
    predicted, fold = np.zeros((n, len(ACTIONS))), np.zeros(n, dtype=np.int64)
    chosen = {
        name: np.zeros(n, dtype=np.int64)
        for name in ("router", "router-safe", "best-fixed", "best-per-budget")
    }
    thresholds = []
    for k, roles in enumerate(rotations(data.questions, folds=folds, seed=seed)):
        fit, test = data.where(roles.fit), data.where(roles.test)
        one = Fitted.on(fit, data.where(roles.calibrate), make=make, max_harm=max_harm)
        fold[roles.test], predicted[roles.test] = k, one.predict(test)
        for name, actions in one.policies(test).items():
            chosen[name][roles.test] = actions
        thresholds.append(one.safety.thresholds_)
    return CrossFitted(predicted, chosen, fold, tuple(thresholds))


@dataclass(frozen=True, slots=True, eq=False)
class Fitted:
    """Everything that is learned in one rotation, and frozen before a test question is seen."""

    learner: Learner
    safety: SafetyThreshold
    best_fixed: int
    best_per_budget: dict[int, int]

    @classmethod
    def on(cls, fit: Utilities, calibrate: Utilities, *, make: MakeLearner, max_harm: float) -> Fitted:
        """Learn utilities and fixed policies from `fit`, thresholds from `calibrate`."""
        learner = make().fit(fit.features, fit.values, groups=fit.questions)
        return cls(
            learner,
            calibrated(learner.predict(calibrate.features), calibrate, max_harm=max_harm),
            _best_mean(fit),
            {int(b): _best_mean(fit.where(fit.budgets == b)) for b in np.unique(fit.budgets)},
        )

    def predict(self, data: Utilities) -> Floats:
        """Utilities of all actions, shape (n, 4)."""
        return np.asarray(self.learner.predict(data.features))

    def policies(self, data: Utilities) -> dict[str, Ints]:
        """Action index per row for every learned policy."""
        predicted = self.predict(data)
        per_budget = [self.best_per_budget.get(int(b), self.best_fixed) for b in data.budgets]
        return {
            "router": best_actions(predicted),
            "router-safe": self.safety.predict(predicted, budgets=data.budgets),
            "best-fixed": np.full(len(data), self.best_fixed),
            "best-per-budget": np.array(per_budget, dtype=np.int64),
        }


def _best_mean(data: Utilities) -> int:
    return int(best_actions(data.values.mean(axis=0, keepdims=True))[0])
