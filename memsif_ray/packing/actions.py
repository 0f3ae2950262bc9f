"""The four actions, in the order in which every array of utilities has its columns (OAS, 3.1)."""

from __future__ import annotations

from enum import StrEnum
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats: TypeAlias = NDArray[np.float64]
Ints: TypeAlias = NDArray[np.int64]


class Action(StrEnum):
    """What is done with the candidate notes of one question."""

    RETAIN = "retain"
    """Complete raw notes only."""
    MERGE = "merge"
    """One compact factual record of several notes."""
    ABSTRACT = "abstract"
    """One higher-level note across them."""
    REWRITE = "rewrite"
    """Each note reformulated by itself."""


ACTIONS = tuple(Action)
GENERATIVE = ACTIONS[1:]

_EQUAL = 1e-12
"""Utilities nearer than this are a tie: no decision may hang on the last bit of a sum."""


def best_actions(utilities: ArrayLike) -> Ints:
    """Index of each row's best action, shape (n,); a tie goes to the earlier one, so first to retention.

    Args:
        utilities: Shape (n, actions); NaN is an action whose utility is unknown, which is never chosen.

    Raises:
        ValueError: When a row knows no utility at all.
    """
    known = np.where(np.isnan(values := np.asarray(utilities, dtype=np.float64)), -np.inf, values)
    top = known.max(axis=1, keepdims=True)
    if np.isneginf(top).any():
        raise ValueError("an instance without any known utility has no best action")
    return np.asarray((known >= top - _EQUAL).argmax(axis=1), dtype=np.int64)


def best_generative(utilities: ArrayLike) -> tuple[Ints, Floats]:
    """The best generative action of each row and its advantage over retention, s(z) of OAS 3.3.

    Returns:
        Indices into the columns, shape (n,), and advantages, shape (n,).
    """
    values = np.asarray(utilities, dtype=np.float64)
    chosen = 1 + best_actions(values[:, 1:])
    return chosen, values[np.arange(len(values)), chosen] - values[:, 0]
