"""Fit a router on offline outcomes, calibrate it on other questions, and keep it as plain data."""

from __future__ import annotations

import hashlib
import logging
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from memsif_ray.errors import DataError
from memsif_ray.packing.actions import ACTIONS, Action, Floats, Ints, best_generative
from memsif_ray.packing.features import NAMES
from memsif_ray.packing.mlp import ActionUtilityMLP
from memsif_ray.packing.ridge import ActionUtilityRidge
from memsif_ray.packing.router import Layer, Router, Training
from memsif_ray.packing.safety import ABSTAIN, SafetyThreshold
from memsif_ray.packing.utilities import Utilities

LOGGER = logging.getLogger(__name__)

Learner: TypeAlias = ActionUtilityRidge | ActionUtilityMLP
MakeLearner: TypeAlias = Callable[[], Learner]


def train_router(
    data: Utilities,
    *,
    calibration: Utilities | None = None,
    make: MakeLearner = ActionUtilityRidge,
    max_harm: float = 0.0,
) -> Router:
    """Fit one router; with `calibration`, also the safe threshold of each budget.

    Rows without a feature or a utility are refused and counted, constant features get weight 0, and an
    action that was never executed stays unknown: each is written into the router and logged as a warning.

    Args:
        data: Outcomes to fit.
        calibration: Outcomes of other questions.
        make: Gives a new unfitted learner.
        max_harm: See `SafetyThreshold`.

    Raises:
        DataError: When no row is usable, or a question is used for both fitting and calibration.
    """
    usable, known = data.usable(), data.known()
    if not len(usable) or not len(known):
        raise DataError("no row to train a router on has all its features and utilities")
    if calibration is not None and set(calibration.questions) & set(data.questions):
        raise DataError("a question is used for both fitting and calibration")
    learner = make().fit(usable.features, usable.values[:, known], groups=usable.questions)
    router = Router(
        kind="ridge" if isinstance(learner, ActionUtilityRidge) else "mlp",
        feature_set=data.feature_set,
        features=NAMES[data.feature_set],
        embedder=data.embedder,
        budgets=tuple(sorted({int(budget) for budget in usable.budgets})),
        layers=tuple(_layer(*layer) for layer in _layers(learner, known)),
        training=_training(usable, learner, refused=len(data) - len(usable), known=known),
    )
    _say(router.training)
    if calibration is None:
        return router
    thresholds = _thresholds(router, calibration.usable(), known=known, max_harm=max_harm)
    return router.model_copy(update={"thresholds": thresholds})


def calibrated(
    predicted: Floats, data: Utilities, *, known: Ints | None = None, max_harm: float = 0.0
) -> SafetyThreshold:
    """The safe thresholds for a router's predictions on questions it was not fitted on.

    Args:
        predicted: Utilities of the known actions, retention first, shape (n, known).
        data: What came out, n rows.
        known: Columns of `data.values` that `predicted` is about; all by default.
        max_harm: See `SafetyThreshold`.
    """
    chosen, _ = best_generative(predicted)
    columns = chosen if known is None else known[chosen]
    gains = data.gains[np.arange(len(data)), columns]
    return SafetyThreshold(max_harm).fit(predicted, gains, budgets=data.budgets)


def training_fingerprint(data: Utilities) -> str:
    """Twelve hex digits of the rows, whatever their order."""
    lines = sorted(
        repr((str(question), int(budget), features.tolist(), values.tolist()))
        for question, budget, features, values in zip(
            data.questions, data.budgets, data.features, data.values, strict=True
        )
    )
    head = f"{data.feature_set} {data.embedder}\n"
    return hashlib.sha256((head + "\n".join(lines)).encode()).hexdigest()[:12]


def _layers(learner: Learner, known: Ints) -> list[tuple[Floats, Floats]]:
    """All layers, the last one with a row of zeros for every unknown action."""
    if isinstance(learner, ActionUtilityRidge):
        layers = [(np.atleast_2d(learner.coef_), np.atleast_1d(learner.intercept_))]
    else:
        layers = learner.layers_
    weights, bias = layers[-1]
    all_weights = np.zeros((len(ACTIONS), weights.shape[1]))
    all_bias = np.zeros(len(ACTIONS))
    all_weights[known], all_bias[known] = weights, bias
    return [*layers[:-1], (all_weights, all_bias)]


def _layer(weights: Floats, bias: Floats) -> Layer:
    return Layer(weights=tuple(map(tuple, weights.tolist())), bias=tuple(bias.tolist()))


def _training(usable: Utilities, learner: Learner, *, refused: int, known: Ints) -> Training:
    names = NAMES[usable.feature_set]
    if isinstance(learner, ActionUtilityRidge):
        settings = {"lambda": learner.lambda_}
    else:
        settings = {"width": learner.width_, "decay": learner.decay_, "epochs": learner.epochs_}
    return Training(
        fingerprint=training_fingerprint(usable),
        rows=len(usable),
        questions=len(set(usable.questions)),
        refused=refused,
        constant=tuple(names[i] for i in learner.constant_features_),
        unknown=tuple(action for i, action in enumerate(ACTIONS) if i not in known),
        settings=settings,
    )


def _say(training: Training) -> None:
    if training.refused:
        LOGGER.warning("%d row(s) refused: a feature or a utility is missing", training.refused)
    if training.constant:
        LOGGER.warning("constant features without weight: %s", ", ".join(training.constant))
    if training.unknown:
        LOGGER.warning("never executed, so never chosen: %s", ", ".join(training.unknown))


def _thresholds(
    router: Router, calibration: Utilities, *, known: Ints, max_harm: float
) -> dict[int, float | None]:
    """Without retention or without an alternative to it there is nothing to weigh: abstain."""
    budgets = sorted({int(budget) for budget in calibration.budgets})
    if ACTIONS.index(Action.RETAIN) not in known or len(known) < 2:
        return dict.fromkeys(budgets)
    predicted = router.utilities(calibration.features)[:, known]
    safety = calibrated(predicted, calibration, known=known, max_harm=max_harm)
    return {budget: None if limit == ABSTAIN else limit for budget, limit in safety.thresholds_.items()}
