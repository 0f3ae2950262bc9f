"""The paper's router: one ridge response per action (OAS, 3.3, equation 5)."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.linear_model import Ridge
from sklearn.utils.validation import check_is_fitted, validate_data

from memsif_ray.packing.actions import Floats, Ints
from memsif_ray.packing.folds import fold_numbers
from memsif_ray.packing.standardising import Scale, in_fixed_order

LAMBDAS = (1e-4, 1e-3, 1e-2, 0.1, 0.3, 1.0, 3.0, 10.0)


class ActionUtilityRidge(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Minimises (1/n) Σ (u − b − ⟨θ, ψ⟩)² + λ‖θ‖² per action, on standardised features; b is free.

    λ is one of `lambdas`, chosen for all actions together by cross-validation that never separates the rows
    of a group. Note the 1/n: a λ of the form without it is n times as large.

    Args:
        lambdas: Candidates; one alone is taken as it is.
        folds: Of the inner cross-validation; fewer when there are fewer groups.
        seed: Decides which groups share a fold.

    Attributes:
        lambda_: The chosen regularisation strength.
        coef_: Weights of raw features, shape (actions, d); (d,) for one-dimensional targets.
        intercept_: Shape (actions,); a number for one-dimensional targets.
        standard_coef_: Weights of the standardised features, shape (actions, d).
        constant_features_: Indices of columns without variation, whose weight is 0.
        n_features_in_: Number of columns.
    """

    def __init__(self, lambdas: tuple[float, ...] = LAMBDAS, folds: int = 3, seed: int = 2026) -> None:
        """Keep the settings; nothing is checked before `fit`."""
        self.lambdas = lambdas
        self.folds = folds
        self.seed = seed

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit on features X, shape (n, d), and utilities y, shape (n, actions).

        Args:
            X: No value may be missing.
            y: In [0, 1] for utilities; any finite number is accepted.
            groups: Question of every row, shape (n,); by default every row is one of its own.
        """
        rows, targets = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        flat = targets.ndim == 1
        rows, targets, members = in_fixed_order(
            rows, np.asarray(targets, dtype=np.float64).reshape(len(rows), -1), groups
        )
        self.lambda_ = self._best_lambda(rows, targets, members)
        self.constant_features_ = Scale.of(rows).constant
        self.standard_coef_, weights, bias = _solve(rows, targets, self.lambda_)
        self.coef_: Floats = weights[0] if flat else weights
        self.intercept_: Floats = bias[0] if flat else bias
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Utilities, shape (n, actions); (n,) when fitted on one-dimensional targets."""
        check_is_fitted(self)
        rows = validate_data(self, X, reset=False, dtype=np.float64)
        return np.asarray(rows @ self.coef_.T + self.intercept_)

    def _best_lambda(self, rows: Floats, targets: Floats, groups: Ints) -> float:
        folds = min(self.folds, len(np.unique(groups)))
        if len(self.lambdas) == 1 or folds < 2:
            return float(max(self.lambdas))
        fold = fold_numbers(groups, folds, seed=self.seed)
        errors = np.zeros(len(self.lambdas))
        for k in range(folds):
            held = fold == k
            for i, strength in enumerate(self.lambdas):
                _, weights, bias = _solve(rows[~held], targets[~held], strength)
                errors[i] += np.square(rows[held] @ weights.T + bias - targets[held]).sum()
        return float(self.lambdas[int(errors.argmin())])


def _solve(rows: Floats, targets: Floats, strength: float) -> tuple[Floats, Floats, Floats]:
    """Standardised weights, raw weights and raw intercepts, of shapes (a, d), (a, d) and (a,)."""
    scale = Scale.of(rows)
    fitted = Ridge(alpha=len(rows) * strength, solver="cholesky").fit(scale.apply(rows), targets)
    standard = np.asarray(fitted.coef_, dtype=np.float64).reshape(targets.shape[1], -1)
    return standard, *scale.fold_into(standard, np.atleast_1d(fitted.intercept_))
