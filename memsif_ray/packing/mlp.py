"""The nonlinear control of the paper: would more capacity than ridge change the result? (OAS, 7.4)."""

from __future__ import annotations

from itertools import islice, product
from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, MultiOutputMixin, RegressorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from memsif_ray.packing.actions import Floats, Ints
from memsif_ray.packing.folds import fold_numbers
from memsif_ray.packing.network import Layers, new_layers, training
from memsif_ray.packing.router import forward
from memsif_ray.packing.standardising import Scale, in_fixed_order


class ActionUtilityMLP(MultiOutputMixin, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """One ReLU layer and a sigmoid output per action, with weight decay and early stopping.

    Width, decay and the number of steps are chosen by cross-validation that never separates the rows of a
    group; then all rows are fitted again for that many steps. Outputs lie in (0, 1), so other targets than
    utilities are fitted badly.

    Args:
        widths: Hidden units to try.
        decays: Weight decays to try.
        max_epochs: Most steps; every step sees all rows.
        rate: Step size of Adam.
        folds: Of the inner cross-validation; fewer when there are fewer groups.
        seed: Of the first weights and the folds.

    Attributes:
        width_: Chosen hidden width.
        decay_: Chosen weight decay.
        epochs_: Chosen number of steps.
        layers_: Weights and biases for raw features.
        constant_features_: Indices of columns without variation, whose weights are 0.
        n_features_in_: Number of columns.
    """

    def __init__(
        self,
        widths: tuple[int, ...] = (4, 8, 16),
        decays: tuple[float, ...] = (0.001, 0.01, 0.1),
        max_epochs: int = 300,
        rate: float = 0.02,
        folds: int = 3,
        seed: int = 2026,
    ) -> None:
        """Keep the settings; nothing is checked before `fit`."""
        self.widths = widths
        self.decays = decays
        self.max_epochs = max_epochs
        self.rate = rate
        self.folds = folds
        self.seed = seed

    def __sklearn_tags__(self) -> Tags:
        """Targets outside (0, 1) cannot be reached, so scores on other data are poor."""
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True
        return tags

    def fit(self, X: ArrayLike, y: ArrayLike, groups: ArrayLike | None = None) -> Self:  # noqa: N803
        """Fit on features X, shape (n, d), and utilities y, shape (n, actions); see `ActionUtilityRidge`."""
        rows, targets = validate_data(self, X, y, multi_output=True, y_numeric=True, dtype=np.float64)
        self._flat = targets.ndim == 1
        rows, targets, members = in_fixed_order(
            rows, np.asarray(targets, dtype=np.float64).reshape(len(rows), -1), groups
        )
        self.width_, self.decay_, self.epochs_ = self._best_setting(rows, targets, members)
        scale = Scale.of(rows)
        self.constant_features_ = scale.constant
        steps = self._training(scale.apply(rows), targets, self.width_, self.decay_)
        *_, (hidden, output) = islice(steps, self.epochs_)
        self.layers_: Layers = [scale.fold_into(*hidden), output]
        return self

    def predict(self, X: ArrayLike) -> Floats:  # noqa: N803
        """Utilities in (0, 1), shape (n, actions); (n,) when fitted on one-dimensional targets."""
        check_is_fitted(self)
        outputs = forward(self.layers_, validate_data(self, X, reset=False, dtype=np.float64))
        return outputs[:, 0] if self._flat else outputs

    def _training(self, rows: Floats, targets: Floats, width: int, decay: float) -> islice[Layers]:
        rng = np.random.default_rng(self.seed)
        start = new_layers(rows.shape[1], width, targets.shape[1], rng=rng)
        return islice(training(start, rows, targets, decay=decay, rate=self.rate), self.max_epochs)

    def _best_setting(self, rows: Floats, targets: Floats, groups: Ints) -> tuple[int, float, int]:
        settings = list(product(self.widths, self.decays))
        folds = min(self.folds, len(np.unique(groups)))
        if folds < 2:
            return *settings[0], self.max_epochs
        fold = fold_numbers(groups, folds, seed=self.seed)
        errors = np.zeros((len(settings), self.max_epochs))
        for k in range(folds):
            held = fold == k
            scale = Scale.of(rows[~held])
            fitted, unseen = scale.apply(rows[~held]), scale.apply(rows[held])
            for i, (width, decay) in enumerate(settings):
                steps = self._training(fitted, targets[~held], width, decay)
                errors[i] += [np.square(forward(layers, unseen) - targets[held]).sum() for layers in steps]
        best, epoch = np.unravel_index(int(errors.argmin()), errors.shape)
        return *settings[best], int(epoch) + 1
