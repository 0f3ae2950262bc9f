"""A trained router as plain data: it needs no scikit-learn to decide, and says for what it was made."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

import numpy as np
from pydantic import Field, ValidationError, model_validator

from memsif_ray.config import Strict
from memsif_ray.errors import ConfigError, EmbedderMismatch
from memsif_ray.packing.actions import ACTIONS, Action, Floats, best_actions, best_generative
from memsif_ray.packing.features import NAMES, Features, FeatureSet

Rows: TypeAlias = tuple[tuple[float, ...], ...]


class Layer(Strict):
    """An affine map: `weights` has a row per output and a column per input, in raw feature units."""

    weights: Rows
    bias: tuple[float, ...]


class Training(Strict):
    """Where a router comes from, and what was odd about its data.

    `fingerprint` is a digest of the rows it was fitted on. `constant` features have weight 0; `refused` rows
    lacked a feature or a utility; an action in `unknown` was never executed, so it is never chosen.
    """

    fingerprint: str
    rows: int
    questions: int
    refused: int = 0
    constant: tuple[str, ...] = ()
    unknown: tuple[Action, ...] = ()
    settings: dict[str, float] = {}


class Router(Strict):
    """Predicts the utility of every action and chooses one.

    Attributes:
        version: Of the file; raised when its numbers change their meaning.
        kind: `ridge` has one layer; `mlp` two, ReLU between them and a sigmoid behind.
        thresholds: Budget → smallest advantage at which calibration allows a generative action; None
            abstains always. Empty for a router that was never calibrated.
    """

    version: Literal[1] = 1
    kind: Literal["ridge", "mlp"]
    feature_set: FeatureSet
    features: tuple[str, ...]
    embedder: str
    actions: tuple[Action, ...] = ACTIONS
    budgets: tuple[int, ...]
    layers: tuple[Layer, ...] = Field(min_length=1, max_length=2)
    thresholds: dict[int, float | None] = {}
    training: Training

    @model_validator(mode="after")
    def _consistent(self) -> Router:
        if self.features != NAMES[self.feature_set] or self.actions != ACTIONS:
            raise ValueError(f"made for other features or actions than this version's {self.feature_set} set")
        width = len(self.features)
        for layer in self.layers:
            if len(layer.weights) != len(layer.bias) or {len(row) for row in layer.weights} != {width}:
                raise ValueError("a layer's weights have the wrong shape")
            width = len(layer.bias)
        if width != len(ACTIONS):
            raise ValueError("the last layer must have one output per action")
        return self

    def utilities(self, values: Floats) -> Floats:
        """Predicted utility of each action, shape (n, 4), from features of shape (n, d); NaN if unknown."""
        predicted = forward([(np.array(one.weights), np.array(one.bias)) for one in self.layers], values)
        predicted[:, [ACTIONS.index(action) for action in self.training.unknown]] = np.nan
        return predicted

    def choose(self, features: Features, *, budget: int, safe: bool = False) -> Choice:
        """Choose an action for one instance; see `Choice`.

        Raises:
            EmbedderMismatch: When the features rest on another embedder.
            ConfigError: When they are not the features this router was made for.
        """
        self.check(embedder=features.embedder)
        if features.names != self.features:
            raise ConfigError(
                f"this router needs the {self.feature_set} features: {', '.join(self.features)}"
            )
        predicted = self.utilities(np.array([features.values]))
        action = ACTIONS[best_actions(predicted)[0]]
        if not safe or action is Action.RETAIN:
            return Choice(action, tuple(predicted[0]))
        if budget not in self.thresholds:
            return Choice(Action.RETAIN, tuple(predicted[0]), f"no threshold for a budget of {budget}")
        threshold = self.thresholds[budget]
        advantage = best_generative(predicted)[1][0]
        if threshold is None or advantage < threshold:
            return Choice(Action.RETAIN, tuple(predicted[0]), "advantage below the safe threshold")
        return Choice(action, tuple(predicted[0]))

    def check(self, *, embedder: str) -> None:
        """Make sure that it may decide about vectors of `embedder`.

        Raises:
            EmbedderMismatch: When it was trained on another's.
        """
        if embedder != self.embedder:
            raise EmbedderMismatch(f"this router was trained with embedder {self.embedder}, not {embedder}")


@dataclass(frozen=True, slots=True)
class Choice:
    """What a router decided.

    Attributes:
        action: To be carried out.
        utilities: Predicted, in the order of `ACTIONS`; NaN for an action it knows nothing of.
        reason: Why it retains although a generative action was predicted to be better; "" otherwise.
    """

    action: Action
    utilities: tuple[float, ...]
    reason: str = ""


def load_router(path: Path, *, embedder: str | None = None) -> Router:
    """Read a router from its JSON file.

    Args:
        path: Written from `router.model_dump_json()`.
        embedder: That of the run, if it is to be checked at once.

    Raises:
        ConfigError: When the file cannot be read, is of another version or was made for other features.
        EmbedderMismatch: When it was trained with another embedder.
    """
    try:
        router = Router.model_validate_json(path.read_bytes())
    except OSError as exc:
        raise ConfigError(f"cannot read router {path}: {exc}") from exc
    except ValidationError as exc:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'file'}: {e['msg']}" for e in exc.errors())
        raise ConfigError(f"router {path} cannot be used: {wrong}") from exc
    if embedder is not None:
        router.check(embedder=embedder)
    return router


def forward(layers: list[tuple[Floats, Floats]], inputs: Floats) -> Floats:
    """One affine layer, or two with ReLU between and sigmoid behind.

    Args:
        layers: (weights of shape (outputs, inputs), bias of shape (outputs,)) each.
        inputs: Shape (n, inputs).
    """
    (weights, bias), *rest = layers
    hidden = inputs @ weights.T + bias
    if not rest:
        return hidden
    (weights, bias) = rest[0]
    return sigmoid(np.maximum(hidden, 0.0) @ weights.T + bias)


def sigmoid(values: Floats) -> Floats:
    """1 / (1 + exp(-x)), written so that no exponential overflows."""
    return 0.5 * (1.0 + np.tanh(0.5 * values))
