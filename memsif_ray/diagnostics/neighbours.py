"""How far away in time a segment's semantic neighbours are (MemSIF, Appendix A.4, Claim 1.2)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memsif_ray.diagnostics.measured import Measured, directions, unusable
from memsif_ray.types import Matrix

RANKS = (1, 2, 4, 8)
"""Neighbours per segment that distance is measured for."""
BLOCK_BYTES = 64 * 2**20
"""Of similarities at a time; about three times as much is in use beside the vectors."""
ROUNDS = 20
"""Draws of the random baseline."""

# Vectors are 32-bit: what two similarities differ by beyond the sixth decimal is rounding, and how a
# product is cut into blocks must not decide which of two equally near segments comes first.
_STEPS = 1e6

Indices = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Neighbours:
    """The nearest segments of every segment, nearest first.

    Attributes:
        indices: Shape (segments, min(k, segments - 1)); never the segment itself.
        similarity: Their cosines, to six decimals.
    """

    indices: Indices
    similarity: NDArray[np.float64]


def top_neighbours(vectors: Matrix, k: int, *, block_bytes: int = BLOCK_BYTES) -> Neighbours:
    """The `k` nearest segments of each by cosine; all others where there are fewer.

    Exact. Segments that are equally near to six decimals come in the order of their positions. Memory grows
    with the number of segments, not with its square.

    Args:
        vectors: Usable embeddings of at least two segments, shape (segments, dim).
        k: At least one.
        block_bytes: How much of the matrix of similarities to hold at a time.
    """
    rows, size = directions(vectors), len(vectors)
    k = min(k, size - 1)
    step = max(1, block_bytes // (8 * size))
    indices = np.empty((size, k), dtype=np.int64)
    similarity = np.empty((size, k))
    for start in range(0, size, step):
        block = slice(start, min(start + step, size))
        indices[block], similarity[block] = _nearest(rows, block, k)
    return Neighbours(indices, similarity)


def sntd(indices: Indices, k: int) -> float:
    """SNTD@k: the mean distance d(i, j) = |i - j| / (m - 1) to the k nearest (Eqs. 10 and 11).

    Args:
        indices: Of [`Neighbours`][memsif_ray.diagnostics.neighbours.Neighbours], at least two segments.
        k: Where a segment has fewer neighbours, all of them count.
    """
    return float(distances(indices[:, :k]).mean())


def distances(indices: Indices) -> NDArray[np.float64]:
    """Normalised distance of every segment to its neighbours, shape as `indices`."""
    size = len(indices)
    apart: NDArray[np.float64] = np.abs(indices - np.arange(size)[:, None]) / (size - 1)
    return apart


def sntd_at(vectors: Matrix, ranks: Sequence[int] = RANKS) -> dict[int, Measured]:
    """SNTD@k for every k; takes two segments, and finds neighbours once."""
    reason = unusable(vectors, least=2)
    if reason:
        return {k: Measured(None, reason) for k in ranks}
    found = top_neighbours(vectors, max(ranks)).indices
    return {k: Measured(sntd(found, k)) for k in ranks}


def random_sntd(size: int) -> float:
    """What SNTD@k is expected to be when neighbours are drawn at random, for any k.

    The mean of |i - j| over ordered pairs of m positions is (m + 1) / 3, and distances are in units of m - 1.

    Args:
        size: Segments, at least two.
    """
    return (size + 1) / (3 * (size - 1))


def drawn_sntd(size: int, k: int, *, seed: int | Sequence[int], rounds: int = ROUNDS) -> tuple[float, float]:
    """The same baseline by drawing: for every segment, k others without replacement, several times over.

    Args:
        size: Segments, at least two.
        k: All others are drawn where there are fewer.
        seed: Of the draws.
        rounds: How often, at least twice.

    Returns:
        The mean, and its standard error.
    """
    rng = np.random.default_rng(seed)
    k = min(k, size - 1)
    means = [distances(_drawn(size, k, rng)).mean() for _ in range(rounds)]
    return float(np.mean(means)), float(np.std(means, ddof=1) / np.sqrt(rounds))


def _nearest(rows: NDArray[np.float64], block: slice, k: int) -> tuple[Indices, NDArray[np.float64]]:
    size = len(rows)
    # One whole number per pair orders by similarity, then by position: no two are equal, so a partial sort
    # has one right answer. It stays far below 2^53, where doubles stop being exact.
    keys = rows[block] @ rows.T
    np.rint(np.multiply(keys, _STEPS, out=keys), out=keys)
    keys *= size
    keys -= np.arange(size)
    own = np.arange(block.start, block.stop)
    keys[own - block.start, own] = -np.inf
    near = np.argpartition(keys, size - k, axis=1)[:, size - k :]
    found = np.take_along_axis(keys, near, axis=1)
    order = np.argsort(-found, axis=1)
    indices = np.take_along_axis(near, order, axis=1)
    return indices, (np.take_along_axis(found, order, axis=1) + indices) / size / _STEPS


def _drawn(size: int, k: int, rng: np.random.Generator) -> Indices:
    """For every segment `k` distinct others, by Floyd's algorithm over all segments at once."""
    chosen = np.empty((size, k), dtype=np.int64)
    for place, last in enumerate(range(size - 1 - k, size - 1)):
        drawn = rng.integers(0, last + 1, size=size)
        taken = (chosen[:, :place] == drawn[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, last, drawn)
    # Numbers count the others; from the segment itself on, they are shifted by one.
    return chosen + (chosen >= np.arange(size)[:, None])
