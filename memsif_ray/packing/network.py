"""The smallest network that is not linear: one ReLU layer, sigmoid outputs, trained by Adam on all rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

import numpy as np

from memsif_ray.packing.actions import Floats
from memsif_ray.packing.router import forward

Layers: TypeAlias = list[tuple[Floats, Floats]]
"""(weights of shape (outputs, inputs), bias of shape (outputs,)) of the hidden and the output layer."""

_MEAN_DECAY, _SQUARE_DECAY, _TINY = 0.9, 0.999, 1e-8


def new_layers(inputs: int, width: int, outputs: int, *, rng: np.random.Generator) -> Layers:
    """Weights drawn for ReLU (He et al., 2015), biases zero."""
    return [
        (rng.normal(0.0, np.sqrt(2.0 / inputs), (width, inputs)), np.zeros(width)),
        (rng.normal(0.0, np.sqrt(1.0 / width), (outputs, width)), np.zeros(outputs)),
    ]


def loss_and_gradient(layers: Layers, rows: Floats, targets: Floats, *, decay: float) -> tuple[float, Layers]:
    """Mean squared error plus decay/2 times the squared weights (not biases), and its derivatives.

    Args:
        layers: The network.
        rows: Shape (n, inputs).
        targets: Shape (n, outputs).
        decay: Weight decay, 0 or more.
    """
    (first, first_bias), (second, _) = layers
    before = rows @ first.T + first_bias
    hidden = np.maximum(before, 0.0)
    outputs = forward(layers, rows)
    error = outputs - targets
    loss = np.square(error).mean() + decay / 2 * (np.square(first).sum() + np.square(second).sum())
    slope = 2.0 / error.size * error * outputs * (1.0 - outputs)
    hidden_slope = (slope @ second) * (before > 0.0)
    return float(loss), [
        (hidden_slope.T @ rows + decay * first, hidden_slope.sum(axis=0)),
        (slope.T @ hidden + decay * second, slope.sum(axis=0)),
    ]


def training(layers: Layers, rows: Floats, targets: Floats, *, decay: float, rate: float) -> Iterator[Layers]:
    """The network after one step of Adam, after two, and so on without end."""
    flat = _flat(layers)
    mean, square = np.zeros_like(flat), np.zeros_like(flat)
    step = 0
    while True:
        step += 1
        gradient = _flat(loss_and_gradient(layers, rows, targets, decay=decay)[1])
        mean = _MEAN_DECAY * mean + (1 - _MEAN_DECAY) * gradient
        square = _SQUARE_DECAY * square + (1 - _SQUARE_DECAY) * gradient**2
        unbiased = np.sqrt(square / (1 - _SQUARE_DECAY**step)) + _TINY
        flat = flat - rate * mean / (1 - _MEAN_DECAY**step) / unbiased
        layers = _shaped(flat, layers)
        yield layers


def _flat(layers: Layers) -> Floats:
    return np.concatenate([part.ravel() for layer in layers for part in layer])


def _shaped(flat: Floats, like: Layers) -> Layers:
    shaped, at = [], 0
    for weights, bias in like:
        split, end = at + weights.size, at + weights.size + bias.size
        shaped.append((flat[at:split].reshape(weights.shape), flat[split:end]))
        at = end
    return shaped
