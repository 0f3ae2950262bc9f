"""When a generative action may replace raw notes: a threshold on its predicted advantage (OAS, 3.3)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted, validate_data

from memsif_ray.packing.actions import Floats, Ints, best_actions, best_generative

ABSTAIN = float("inf")
"""The threshold that no advantage reaches."""
_EQUAL = 1e-12


class SafetyThreshold(BaseEstimator):  # type: ignore[misc]
    """Per budget, the threshold with the best accuracy among those whose observed harm is allowed.

    Candidates are the advantages seen in calibration, and abstaining always. Equal accuracy goes to the
    larger threshold. Advantages of zero or less are no candidates: there the router itself retains, and a
    safety rule must not replace more than the router it guards. So what the calibrated rule replaces is
    always a part of what the uncalibrated one does.

    Args:
        max_harm: Largest allowed share of calibration instances for which the generated action did worse
            than retention. The paper's is 0.

    Attributes:
        thresholds_: Budget → threshold; `ABSTAIN` where nothing is safe.
        n_features_in_: Number of actions.
    """

    def __init__(self, max_harm: float = 0.0) -> None:
        """Keep the setting."""
        self.max_harm = max_harm

    def fit(self, X: ArrayLike, y: ArrayLike, budgets: ArrayLike | None = None) -> Self:  # noqa: N803
        """Choose thresholds on questions that the router was not fitted on.

        Args:
            X: Predicted utilities, shape (n, actions), retention first; at least two actions.
            y: What the router's best generative action gained over retention, shape (n,).
            budgets: Shape (n,); by default all are one budget, 0.
        """
        predicted, gains = validate_data(self, X, y, y_numeric=True, dtype=np.float64, ensure_min_features=2)
        _, advantages = best_generative(predicted)
        budget = _budgets(budgets, len(predicted))
        self.thresholds_ = {
            int(one): _threshold(advantages[budget == one], gains[budget == one], max_harm=self.max_harm)
            for one in np.unique(budget)
        }
        return self

    def predict(self, X: ArrayLike, budgets: ArrayLike | None = None) -> Ints:  # noqa: N803
        """Index of the action to take, shape (n,); retention for a budget that was never calibrated."""
        check_is_fitted(self)
        predicted = validate_data(self, X, reset=False, dtype=np.float64)
        limits = np.array(
            [self.thresholds_.get(int(one), ABSTAIN) for one in _budgets(budgets, len(predicted))]
        )
        allowed = best_generative(predicted)[1] >= limits
        return np.where(allowed, best_actions(predicted), 0)


def _budgets(budgets: ArrayLike | None, n: int) -> NDArray[Any]:
    return np.zeros(n, dtype=np.int64) if budgets is None else np.asarray(budgets)


def _threshold(advantages: Floats, gains: Floats, *, max_harm: float) -> float:
    """One sweep from the largest advantage down: each candidate accepts all that the one before did."""
    best, best_gain = ABSTAIN, 0.0
    for candidate in np.unique(advantages[advantages > _EQUAL])[::-1]:
        accepted = gains[advantages >= candidate]
        if np.count_nonzero(accepted < -_EQUAL) > max_harm * len(gains):
            break  # harm only grows from here
        if accepted.sum() > best_gain + _EQUAL:
            best, best_gain = float(candidate), float(accepted.sum())
    return best
