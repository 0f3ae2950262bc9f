"""Pairs of segments for a model to judge: terciles of all pairs, and a sample of each (MemSIF, Appendix A.4).

Adjacent pairs are divided by their pattern score r_i, neighbours by their distance in time. The paper names
near, mid and far but gives no bounds; terciles, as for adjacent pairs, leave no bucket empty.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memsif_ray.diagnostics.sampling import seeded_sample, terciles
from memsif_ray.diagnostics.segmentation import FixedSegment

ADJACENT, NEIGHBOUR = "adjacent", "neighbour"
BUCKETS: Mapping[str, tuple[str, str, str]] = {
    ADJACENT: ("low", "mid", "high"),  # volatility
    NEIGHBOUR: ("near", "mid", "far"),
}
"""Names of the terciles by kind of pair, in ascending order of what divides them."""
PAIRS_PER_BUCKET = 100

Segments = Callable[[str], Sequence[FixedSegment]]
"""The segments of two messages of a conversation, by its id."""


@dataclass(frozen=True, slots=True)
class PairColumns:
    """All pairs of one kind; columns of equal length.

    Attributes:
        conversation_ids: Whose segments they are.
        left: Number of the earlier segment.
        right: Number of the later one.
        values: What divides them: pattern scores, or distances.
    """

    conversation_ids: Sequence[str]
    left: NDArray[np.int64]
    right: NDArray[np.int64]
    values: NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class SampledPair:
    """A pair as a model may see it: a row of [`PAIR_SAMPLES`][memsif_ray.schemas.PAIR_SAMPLES].

    Attributes:
        pair_id: Unique among all pairs of all kinds.
        kind: `adjacent` or `neighbour`.
        bucket: One of `BUCKETS[kind]`; never to be shown.
        value: What put it there.
    """

    pair_id: str
    kind: str
    bucket: str
    conversation_id: str
    left: int
    right: int
    left_message_ids: tuple[str, ...]
    right_message_ids: tuple[str, ...]
    left_text: str
    right_text: str
    value: float


@dataclass(frozen=True, slots=True)
class Division:
    """How pairs of one kind were divided.

    Attributes:
        cuts: Upper bounds of the first and the second bucket, inclusive; None without pairs.
        sizes: Pairs by bucket.
        sampled: How many of them were drawn.
    """

    kind: str
    cuts: tuple[float, float] | None
    sizes: Mapping[str, int]
    sampled: Mapping[str, int]


def sample_pairs(
    kind: str, pairs: PairColumns, segments: Segments, *, per_bucket: int = PAIRS_PER_BUCKET
) -> tuple[list[SampledPair], Division]:
    """Divide pairs into terciles over all conversations, and draw a seeded sample of each.

    Args:
        kind: `adjacent` or `neighbour`.
        pairs: All of them.
        segments: For the texts of those that are drawn.
        per_bucket: At most so many of each; all, where there are fewer.
    """
    names = BUCKETS[kind]
    buckets, cuts = terciles(pairs.values) if len(pairs.values) else (np.zeros(0, dtype=np.int64), None)
    sampled: list[SampledPair] = []
    for number, bucket in enumerate(names):
        places = {_pair_id(kind, pairs, int(i)): int(i) for i in np.flatnonzero(buckets == number)}
        drawn = seeded_sample(places, per_bucket)
        sampled.extend(_shown(name, kind, bucket, pairs, places[name], segments) for name in drawn)
    division = Division(
        kind,
        cuts,
        sizes={name: int((buckets == number).sum()) for number, name in enumerate(names)},
        sampled={name: sum(pair.bucket == name for pair in sampled) for name in names},
    )
    return sampled, division


def _pair_id(kind: str, pairs: PairColumns, place: int) -> str:
    return f"{kind}:{pairs.conversation_ids[place]}:{pairs.left[place]}-{pairs.right[place]}"


def _shown(
    pair_id: str, kind: str, bucket: str, pairs: PairColumns, place: int, segments: Segments
) -> SampledPair:
    conversation_id = pairs.conversation_ids[place]
    known = segments(conversation_id)
    left, right = known[pairs.left[place]], known[pairs.right[place]]
    return SampledPair(
        pair_id=pair_id,
        kind=kind,
        bucket=bucket,
        conversation_id=conversation_id,
        left=left.number,
        right=right.number,
        left_message_ids=left.message_ids,
        right_message_ids=right.message_ids,
        left_text=left.text,
        right_text=right.text,
        value=float(pairs.values[place]),
    )
