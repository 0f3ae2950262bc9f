"""Does a conversation stay on its topic from one segment to the next? (MemSIF, Appendix A.4, Claim 1.1)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memsif_ray.diagnostics.measured import Measured, directions, unusable
from memsif_ray.types import Matrix

_EVEN = 1e-9
"""Spread below which similarities differ by rounding only."""

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class AdjacentPairs:
    """Segments i and i + 1, for every i but the last; arrays of shape (segments - 1,).

    Attributes:
        similarity: a_i, the cosine of the two (Eq. 7).
        volatility: Δ_i, the larger step from a_i to the similarity before or after it; 0 for a single pair.
        score: r_i = z(1 - a_i) + z(Δ_i), standardised within the conversation (Eq. 9).
    """

    similarity: Floats
    volatility: Floats
    score: Floats


def asv(vectors: Matrix) -> Measured:
    """Adjacent Semantic Volatility: the mean step between neighbouring similarities (Eq. 8).

    Args:
        vectors: Embeddings of the segments in order, shape (segments, dim); takes three.
    """
    reason = unusable(vectors, least=3)
    if reason:
        return Measured(None, reason)
    return Measured(float(np.abs(np.diff(_similarities(vectors))).mean()))


def adjacent_pairs(vectors: Matrix) -> AdjacentPairs:
    """Every pair of adjacent segments; none where the embeddings cannot be measured.

    Args:
        vectors: Embeddings of the segments in order, shape (segments, dim).
    """
    if unusable(vectors, least=2):
        nothing = np.zeros(0)
        return AdjacentPairs(nothing, nothing, nothing)
    similarity = _similarities(vectors)
    steps = np.abs(np.diff(similarity))
    # A pair at either end has one neighbour only; steps are not negative, so 0 stands for the missing one.
    volatility = np.maximum(np.append(0.0, steps), np.append(steps, 0.0))
    score = _standardised(1 - similarity) + _standardised(volatility)
    return AdjacentPairs(similarity, volatility, score)


def _similarities(vectors: Matrix) -> Floats:
    rows = directions(vectors)
    return np.asarray(np.einsum("ij,ij->i", rows[:-1], rows[1:]))


def _standardised(values: Floats) -> Floats:
    """z-scores by the population's deviation; zeros where all values are the same."""
    deviation = values.std()
    if deviation < _EVEN:
        return np.zeros_like(values)
    scores: Floats = (values - values.mean()) / deviation
    return scores
