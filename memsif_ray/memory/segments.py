"""Topical Segments: contiguous, topic-coherent runs of messages (MemSIF 3.2).

A double threshold decides most boundaries; only φ strictly between τ_split and τ_merge is put to a
judge. The judge is an LLM (paper) or the model-free rule below; each decision records which.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field

from memsif_ray.memory.matching import Phi, Pool, jaccard
from memsif_ray.types import Decision, Message, Segment, Vector


@dataclass(frozen=True, slots=True)
class Encoded:
    """A message with its embedding (None when blank) and its key entities."""

    message: Message
    vector: Vector | None
    entities: frozenset[str]


@dataclass(frozen=True, slots=True)
class BoundaryCase:
    """What a judge may look at: the open segment, the new message, and a few that follow it.

    `following` is empty when streaming, where the future has not happened yet.
    """

    current: tuple[Message, ...]
    message: Message
    following: tuple[Message, ...]
    phi: float


@dataclass(frozen=True, slots=True)
class BoundaryRuling:
    """A judge's answer: does the message continue the topic, and who says so."""

    continues: bool
    decided_by: str
    detail: str = ""


BoundaryJudge = Callable[[BoundaryCase], Awaitable[BoundaryRuling]]


def boundary_rule(case: BoundaryCase, *, midpoint: float) -> BoundaryRuling:
    """Model-free counterpart: φ against the midpoint of the thresholds; a new session opens a segment."""
    if case.current and case.current[-1].session != case.message.session:
        return BoundaryRuling(False, "rule", "new session")
    return BoundaryRuling(case.phi >= midpoint, "rule")


@dataclass(slots=True)
class _Open:
    start: int
    pool: Pool
    messages: list[Message] = field(default_factory=list)


class Segmenter:
    """Folds messages into segments, one at a time, at constant cost per message.

    Args:
        phi: The matching function.
        tau_split: φ at or below it opens a segment.
        tau_merge: φ at or above it appends.
        judge: Asked when φ lies between the two.
        per_message: Never append, so that every message is a segment (the ablation w/o TS).
    """

    def __init__(
        self,
        phi: Phi,
        *,
        tau_split: float,
        tau_merge: float,
        judge: BoundaryJudge,
        per_message: bool = False,
    ) -> None:
        """Start with no segment."""
        self._phi, self._split, self._merge, self._judge = phi, tau_split, tau_merge, judge
        self._per_message = per_message
        self._open: _Open | None = None
        self.segments: list[Segment] = []
        self.pools: list[Pool] = []
        self.decisions: list[Decision] = []

    async def push(self, item: Encoded, following: Sequence[Message] = ()) -> None:
        """Append `item` to the open segment, or close that and open another."""
        if self._open is None:
            self._begin(item)
        elif item.vector is None or await self._continues(self._open, item, following):
            self._append(item)
        else:
            self._close()
            self._begin(item)

    def finish(self) -> None:
        """Close the open segment; the conversation has no more messages for now."""
        self._close()

    @property
    def open_segment(self) -> Segment | None:
        """The segment still growing, as it stands now."""
        return None if self._open is None else self._as_segment(self._open)

    def restore(
        self,
        segments: Sequence[Segment],
        pools: Sequence[Pool],
        decisions: Sequence[Decision],
        *,
        later: Sequence[Encoded],
    ) -> int:
        """Take over stored closed segments, and open again the one that was growing.

        Args:
            segments: In order.
            pools: Of the segments.
            decisions: About boundaries, those inside the open segment included.
            later: Messages behind the closed segments. The first began the open one; those behind it that
                were decided about were appended, or there would be another closed segment.

        Returns:
            How many of them are in the open segment; the others were never pushed.
        """
        self.segments, self.pools, self.decisions = list(segments), list(pools), list(decisions)
        decided = {decision.subject_id for decision in decisions}
        for count, item in enumerate(later):
            if self._open is None:
                self._begin(item)
            elif item.vector is None or self._open.pool.count == 0 or item.message.message_id in decided:
                self._append(item)
            else:
                return count
        return len(later)

    async def _continues(self, current: _Open, item: Encoded, following: Sequence[Message]) -> bool:
        assert item.vector is not None  # a blank message never gets here
        if current.pool.count == 0:
            return True  # only blank messages so far: there is no topic to leave
        if self._per_message:
            return False
        phi = self._phi.score(current.pool.cosine(item.vector), jaccard(current.pool.entities, item.entities))
        if phi >= self._merge or phi <= self._split:
            return self._record(item, BoundaryRuling(phi >= self._merge, "threshold"), phi)
        case = BoundaryCase(tuple(current.messages), item.message, tuple(following), phi)
        return self._record(item, await self._judge(case), phi)

    def _record(self, item: Encoded, ruling: BoundaryRuling, phi: float) -> bool:
        outcome = "append" if ruling.continues else "split"
        self.decisions.append(
            Decision("boundary", item.message.message_id, outcome, ruling.decided_by, phi, ruling.detail)
        )
        return ruling.continues

    def _begin(self, item: Encoded) -> None:
        dim = 0 if item.vector is None else len(item.vector)
        self._open = _Open(item.message.position, Pool.empty(dim))
        self._append(item)

    def _append(self, item: Encoded) -> None:
        assert self._open is not None  # push() opens one first
        if item.vector is not None and len(self._open.pool.total) == 0:
            self._open.pool = Pool.empty(len(item.vector))
        self._open.pool.add(item.vector, item.entities)
        self._open.messages.append(item.message)

    def _close(self) -> None:
        if self._open is None:
            return
        self.segments.append(self._as_segment(self._open))
        self.pools.append(self._open.pool)
        self._open = None

    def _as_segment(self, current: _Open) -> Segment:
        return Segment(
            segment_id=f"seg_{len(self.segments):05d}",
            start=current.start,
            stop=current.start + len(current.messages),
            message_ids=tuple(m.message_id for m in current.messages),
            embedding=current.pool.direction,
            entities=frozenset(current.pool.entities),
        )
