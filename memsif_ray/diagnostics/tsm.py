"""Temporal-Structural Misalignment of one conversation, and of all of them (MemSIF, Appendix A.4)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import sqrt
from statistics import fmean

import numpy as np

from memsif_ray.diagnostics.measured import Measured, unusable
from memsif_ray.diagnostics.neighbours import (
    RANKS,
    Neighbours,
    drawn_sntd,
    random_sntd,
    sntd,
    top_neighbours,
)
from memsif_ray.diagnostics.sampling import SEED
from memsif_ray.diagnostics.segmentation import LENGTHS, PAIR_LENGTH, fixed_segments
from memsif_ray.diagnostics.volatility import adjacent_pairs, asv
from memsif_ray.ports import Embedder
from memsif_ray.types import Conversation, Matrix, Vector

_TEXTS_AT_A_TIME = 256
"""A cache keeps what one call embedded, so a long conversation goes on where it was stopped."""


class Measure(StrEnum):
    """What is measured."""

    ASV = "asv"
    SNTD = "sntd"
    RANDOM = "random"
    """Expectation of SNTD@k with random neighbours; the same for every k."""
    DRAWN = "drawn"
    """The same by drawing, with its standard error."""


@dataclass(frozen=True, slots=True)
class TsmMeasure:
    """One number of one conversation: a row of [`TSM_MEASURES`][memsif_ray.schemas.TSM_MEASURES].

    Attributes:
        segment_length: Messages per segment.
        k: Neighbours per segment; None where there are none.
        segments: How many the conversation has.
        value: None when it has no meaning.
        error: Standard error of what was drawn; None for everything else.
        reason: Why there is no value, as in [`Measured`][memsif_ray.diagnostics.measured.Measured].
    """

    conversation_id: str
    measure: Measure
    segment_length: int
    k: int | None
    segments: int
    value: float | None
    error: float | None = None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class AdjacentPair:
    """Segments `left` and `left + 1`: a row of [`ADJACENT_PAIRS`][memsif_ray.schemas.ADJACENT_PAIRS].

    The numbers are those of [`AdjacentPairs`][memsif_ray.diagnostics.volatility.AdjacentPairs].
    """

    conversation_id: str
    left: int
    right: int
    similarity: float
    volatility: float
    score: float


@dataclass(frozen=True, slots=True)
class NeighbourPair:
    """Two segments of which one is among the nearest of the other, the earlier one first.

    A row of [`NEIGHBOUR_PAIRS`][memsif_ray.schemas.NEIGHBOUR_PAIRS]; `distance` is normalised.
    """

    conversation_id: str
    left: int
    right: int
    similarity: float
    distance: float


@dataclass(frozen=True, slots=True)
class ConversationTsm:
    """Everything measured in one conversation; pairs are of segments of two messages."""

    measures: tuple[TsmMeasure, ...]
    adjacent: tuple[AdjacentPair, ...]
    neighbours: tuple[NeighbourPair, ...]


@dataclass(frozen=True, slots=True)
class TsmAverage:
    """One number over all conversations, each counting the same.

    Attributes:
        conversations: Those that have a value.
        value: Their mean; None when there are none.
        low: The least of them.
        high: The greatest.
        error: Standard error of what was drawn.
        missing: How many conversations have no value, by reason.
    """

    measure: Measure
    segment_length: int
    k: int | None
    conversations: int
    value: float | None
    low: float | None
    high: float | None
    error: float | None
    missing: Mapping[str, int]


async def measure_conversation(conversation: Conversation, embedder: Embedder) -> ConversationTsm:
    """Embed every distinct text once, and measure.

    Raises:
        ServiceError: When the embedder failed.
    """
    texts = {
        length: [segment.text for segment in fixed_segments(conversation.messages, length)]
        for length in LENGTHS
    }
    vectors = await _embedded(dict.fromkeys(text for group in texts.values() for text in group), embedder)
    return measure_vectors(
        conversation.conversation_id,
        {length: _stacked([vectors[text] for text in group]) for length, group in texts.items()},
    )


def measure_vectors(conversation_id: str, vectors: Mapping[int, Matrix]) -> ConversationTsm:
    """Measure embedded segments.

    Args:
        conversation_id: Also part of the seed of what is drawn, so that conversations draw apart.
        vectors: Embeddings of the segments in order, shape (segments, dim), by segment length.
    """
    paired = vectors[PAIR_LENGTH]
    reason = unusable(paired, least=2)
    found = None if reason else top_neighbours(paired, max(RANKS))
    measures = (
        *(_row(conversation_id, Measure.ASV, n, None, len(rows), asv(rows)) for n, rows in vectors.items()),
        *_distances(conversation_id, len(paired), found, reason),
        *_baselines(conversation_id, len(paired), reason),
    )
    neighbours = tuple(_neighbour_pairs(conversation_id, found)) if found else ()
    return ConversationTsm(measures, tuple(_adjacent_pairs(conversation_id, paired)), neighbours)


def average(measures: Iterable[TsmMeasure]) -> list[TsmAverage]:
    """Means over conversations, in the order in which kinds of measures first appear."""
    groups: dict[tuple[Measure, int, int | None], list[TsmMeasure]] = {}
    for one in measures:
        groups.setdefault((one.measure, one.segment_length, one.k), []).append(one)
    return [_averaged(*kind, rows) for kind, rows in groups.items()]


async def _embedded(texts: Iterable[str], embedder: Embedder) -> dict[str, Vector]:
    distinct = list(texts)
    vectors: dict[str, Vector] = {}
    for start in range(0, len(distinct), _TEXTS_AT_A_TIME):
        batch = distinct[start : start + _TEXTS_AT_A_TIME]
        vectors.update(zip(batch, await embedder.embed(batch), strict=True))
    return vectors


def _stacked(vectors: Sequence[Vector]) -> Matrix:
    return np.stack(vectors) if vectors else np.zeros((0, 0), dtype=np.float32)


def _row(name: str, measure: Measure, length: int, k: int | None, size: int, found: Measured) -> TsmMeasure:
    return TsmMeasure(name, measure, length, k, size, found.value, reason=found.reason)


def _distances(name: str, size: int, found: Neighbours | None, reason: str) -> Iterator[TsmMeasure]:
    for k in RANKS:
        value = Measured(sntd(found.indices, k)) if found else Measured(None, reason)
        yield _row(name, Measure.SNTD, PAIR_LENGTH, k, size, value)


def _baselines(name: str, size: int, reason: str) -> Iterator[TsmMeasure]:
    expected = None if reason else random_sntd(size)
    yield TsmMeasure(name, Measure.RANDOM, PAIR_LENGTH, None, size, expected, reason=reason)
    for k in RANKS:
        value, error = (None, None) if reason else drawn_sntd(size, k, seed=(SEED, k, _number(name)))
        yield TsmMeasure(name, Measure.DRAWN, PAIR_LENGTH, k, size, value, error, reason)


def _number(name: str) -> int:
    return int.from_bytes(hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()[:8])


def _adjacent_pairs(name: str, vectors: Matrix) -> Iterator[AdjacentPair]:
    pairs = adjacent_pairs(vectors)
    columns = (pairs.similarity.tolist(), pairs.volatility.tolist(), pairs.score.tolist())
    for i, numbers in enumerate(zip(*columns, strict=True)):
        yield AdjacentPair(name, i, i + 1, *numbers)


def _neighbour_pairs(name: str, found: Neighbours) -> Iterator[NeighbourPair]:
    size, k = found.indices.shape
    near, far = np.repeat(np.arange(size), k), found.indices.ravel()
    places = np.minimum(near, far) * size + np.maximum(near, far)
    # Two segments that are each other's neighbours are one pair.
    for place in np.sort(np.unique(places, return_index=True)[1]).tolist():
        left, right = sorted((int(near[place]), int(far[place])))
        similarity = float(found.similarity.flat[place])
        yield NeighbourPair(name, left, right, similarity, (right - left) / (size - 1))


def _averaged(measure: Measure, length: int, k: int | None, rows: Sequence[TsmMeasure]) -> TsmAverage:
    values = [row.value for row in rows if row.value is not None]
    errors = [row.error for row in rows if row.error is not None]
    reasons = [row.reason for row in rows if row.value is None]
    return TsmAverage(
        measure,
        length,
        k,
        conversations=len(values),
        value=fmean(values) if values else None,
        low=min(values, default=None),
        high=max(values, default=None),
        error=sqrt(sum(error**2 for error in errors)) / len(errors) if errors else None,
        missing={reason: reasons.count(reason) for reason in sorted(set(reasons))},
    )
