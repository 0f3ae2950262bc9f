"""The two buffers of LightMem: a sensory one that is cut into topics, and a short-term one that is emptied.

Both are functions over message numbers: what a message says, costs and looks like is the caller's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from memsif_ray.types import Matrix

THRESHOLDS = (0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5)
"""A cosine below one of these is a boundary; the next is tried only when none was found."""
NEAR = 3
"""Positions between a boundary by cosine and the peak of attention that confirms it."""

Piece = tuple[int, ...]
"""Message numbers in order."""


def topics(costs: Sequence[int], *, capacity: int, cut: Callable[[Piece], Sequence[int]]) -> list[Piece]:
    """Segments of a stream of messages, in order, as the sensory buffer gives them up.

    Before a message that does not fit, the buffer is cut: what lies before the last boundary leaves it, and
    all of it when there is no boundary. At the end it is cut once more and the rest is the last segment.

    Args:
        costs: Tokens of each message.
        capacity: Tokens the buffer holds; a longer message is alone in it.
        cut: Boundaries inside the buffer: i is one when a segment ends before its i-th message.
    """
    found: list[Piece] = []
    buffer: Piece = ()
    for number, cost in enumerate(costs):
        while buffer and sum(costs[n] for n in buffer) + cost > capacity:
            pieces = _split(buffer, cut(buffer))
            buffer = pieces.pop() if len(pieces) > 1 else ()
            found += pieces
        buffer += (number,)
    return found + (_split(buffer, cut(buffer)) if buffer else [])


def _split(buffer: Piece, boundaries: Sequence[int]) -> list[Piece]:
    edges = [0, *boundaries, len(buffer)]
    return [buffer[start:stop] for start, stop in zip(edges, edges[1:], strict=False)]


def boundaries(vectors: Matrix, attention: Sequence[float] | None = None) -> list[int]:
    """Where neighbouring messages differ, confirmed by attention where there is one.

    With attention, no boundary is set unless it has a peak; then those within `NEAR` positions of a peak
    stay, and all of them when none is so near.

    Args:
        vectors: Unit vectors of the buffered messages, shape (n, dim).
        attention: Share that message i + 1 pays to message i, n - 1 numbers; None = cosine alone.
    """
    found = _by_cosine(vectors)
    if attention is None:
        return found
    peaks = [
        i + 1 for i in range(1, len(attention) - 1) if attention[i - 1] < attention[i] > attention[i + 1]
    ]
    if not peaks:
        return []
    return [i for i in found if min(abs(i - peak) for peak in peaks) <= NEAR] or found


def _by_cosine(vectors: Matrix) -> list[int]:
    cosines = np.einsum("id,id->i", vectors[:-1], vectors[1:])
    for threshold in THRESHOLDS:
        below = np.flatnonzero(cosines < threshold)
        if below.size:
            return [int(i) + 1 for i in below]
    return []


def batches(segments: Sequence[Piece], costs: Sequence[int], *, threshold: int) -> list[list[Piece]]:
    """Segments gathered until the next would exceed the threshold; each batch is one extraction.

    Args:
        segments: In order.
        costs: Tokens of each message.
        threshold: Tokens the short-term buffer holds; a longer segment is alone in it.
    """
    found: list[list[Piece]] = []
    held = 0
    for segment in segments:
        cost = sum(costs[number] for number in segment)
        if not found or held + cost > threshold:
            found.append([])
            held = 0
        found[-1].append(segment)
        held += cost
    return found
