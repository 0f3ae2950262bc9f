"""The write path: messages → segments → trajectories → CoreFacts (MemSIF 3.2, 3.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import accumulate
from typing import Any

from memsif_ray.config import MemoryConfig, SegmentConfig
from memsif_ray.memory.encoding import Encoder
from memsif_ray.memory.fact_writing import FactWriter
from memsif_ray.memory.judges import boundary_judge, is_slight, trajectory_judge
from memsif_ray.memory.matching import Phi, Pool
from memsif_ray.memory.presets import Thresholds
from memsif_ray.memory.segments import Encoded, Segmenter
from memsif_ray.memory.shelf import VectorShelf
from memsif_ray.memory.subjects import SubjectRegistry
from memsif_ray.memory.tools import Tools
from memsif_ray.memory.trajectories import TrajectoryBuilder, TrajectoryCase, TrajectoryRuling
from memsif_ray.types import Decision, Message, Segment, StoredVector, Vector

_SO_FAR = "extract_open"
"""Kind of a decision about the open segment, up to and with the message it names."""

_QUOTING = frozenset({"extract", _SO_FAR, "supersede"})
"""Kinds of decisions whose detail may quote a reply or a fact."""


class MemoryWriter:
    """Everything that is built before a question is known.

    Args:
        config: What memory is made of.
        thresholds: Of the embedder in use.
        tools: Models and extractors.
        subjects: Canonical names of this conversation.
        speakers: Display names of those who speak.
    """

    def __init__(
        self,
        *,
        config: MemoryConfig,
        thresholds: Thresholds,
        tools: Tools,
        subjects: SubjectRegistry,
        speakers: Sequence[str],
    ) -> None:
        """Start with an empty memory."""
        self.messages: dict[str, Message] = {}
        self.encoded: list[Encoded] = []
        self.unit_of: dict[str, str] = {}
        self.thread_of: dict[str, str] = {}
        self._segments_by_id: dict[str, Segment] = {}
        self._place_of: dict[str, int] = {}  # segment id → encoded messages before it
        self._pushed = 0  # encoded messages that are in segments
        self._threaded = 0  # segments that are in trajectories
        self._extracted = 0  # segments whose facts are written
        self._heard = 0  # encoded messages whose facts are written; may lie inside the open segment
        self._config, self._tools = config, tools
        self.encoder = Encoder(tools.embedder, tools.entities, speakers, meet=subjects.meet)
        phi = Phi(config.matching.alpha, config.matching.normalisation)
        self.segmenter = _segmenter(phi, config.segments, thresholds=thresholds, tools=tools)
        self.trajectories = TrajectoryBuilder(phi, top_k=config.trajectories.top_k, judge=self._judge_thread)
        self._by_rule, self._as_configured = (
            trajectory_judge(
                tools, use_llm=use_llm, tau_join=thresholds.tau_join, messages_of=self.messages_of
            )
            for use_llm in (False, tools.capabilities.uses_llm("trajectory", config.trajectories.decide))
        )
        self._facts = FactWriter(
            config.core, tools=tools, subjects=subjects, embed=self.embed, trajectory_of=self.thread_of.get
        )
        self.book = self._facts.book

    async def add(self, messages: Sequence[Message], *, following: Sequence[Message] = ()) -> int:
        """Take in messages in order; those whose id is known are skipped. Returns how many were new.

        The last segment stays open for messages to come; `flush` closes it.

        Args:
            messages: In order.
            following: Known to come next; a boundary judge may look at them.

        Raises:
            ServiceError: When a model endpoint failed. What was left undone is done by the next call,
                also by one that adds nothing new.
        """
        new = list({m.message_id: m for m in messages if m.message_id not in self.messages}.values())
        for item in await self.encoder.encode(new):
            self.encoded.append(item)
            self.messages[item.message.message_id] = item.message
        await self._push_pending(following)
        await self._digest()
        return len(new)

    async def flush(self) -> None:
        """Close the open segment and digest it; errors are those of `add`."""
        await self._push_pending()
        self.segmenter.finish()
        self._adopt_closed()
        await self._digest()

    async def settle(self) -> None:
        """Write the facts of what the open segment holds so far, without closing it; errors as of `add`."""
        await self._push_pending()
        await self._digest()
        still_open = self.segmenter.open_segment
        unheard = [item.message for item in self.encoded[self._heard : self._pushed]]
        if still_open is None or not unheard or not self._config.core.enabled:
            return
        extraction = await self._facts.extract(still_open.segment_id, unheard)
        await self._facts.write(extraction, kind=_SO_FAR, subject_id=unheard[-1].message_id)
        self._heard = self._pushed

    def decisions_by_maker(self) -> dict[str, list[Decision]]:
        """Every decision made while building, by its stage, each in order."""
        return {
            "boundary": self.segmenter.decisions,
            "trajectory": self.trajectories.decisions,
            "extract": self._facts.read,
            "supersede": self._facts.superseded,
        }

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """All of them, stage by stage."""
        return tuple(decision for made in self.decisions_by_maker().values() for decision in made)

    def messages_of(self, segment_id: str) -> list[Message]:
        """The messages of a closed segment, in order."""
        return [self.messages[m] for m in self._segments_by_id[segment_id].message_ids]

    async def embed(self, statement: str) -> Vector:
        """The embedding of one statement, shape (dim,)."""
        vector: Vector = (await self._tools.embedder.embed([statement]))[0]
        return vector

    def stored_vectors(self, model_id: str) -> list[StoredVector]:
        """Embeddings and entities of every message that has them."""
        return [
            StoredVector("message", (m := e.message.message_id), model_id, e.vector, self.encoder.found[m])
            for e in self.encoded
            if e.vector is not None
        ]

    def forget_details(self) -> None:
        """Leave out what decisions quote of replies: it may hold what is to be erased."""
        for made in self.decisions_by_maker().values():
            made[:] = [
                replace(d, detail="") if d.decided_by == "fallback" or d.kind in _QUOTING else d for d in made
            ]

    def restore(self, tables: Mapping[str, Sequence[Any]], stored: VectorShelf) -> None:
        """Take over stored messages, segments, trajectories and decisions; facts are the caller's.

        What was still to be done follows from the tables: a message is in a segment or was decided about, a
        segment is in a trajectory, its facts are named by a decision, or else that is still to come.
        """
        for message in sorted(tables["messages"], key=lambda m: m.position):
            vector, found = stored.get("message", message.message_id), stored.entities(message.message_id)
            self.encoded.append(self.encoder.resume(message, vector, found))
            self.messages[message.message_id] = message
        items = {e.message.message_id: e for e in self.encoded}
        segments = sorted(tables["segments"], key=lambda s: s.start)
        pools = [_pool([items[m] for m in s.message_ids]) for s in segments]
        made = _by_maker(tables["decisions"])
        closed = sum(len(s.message_ids) for s in segments)
        later = self.encoded[closed:]
        self._pushed = closed + self.segmenter.restore(segments, pools, made["boundary"], later=later)
        self._adopt_closed()
        thread_of = {s: t.trajectory_id for t in tables["trajectories"] for s in t.segment_ids}
        assigned = [
            (s.segment_id, thread_of[s.segment_id], pool)
            for s, pool in zip(segments, pools, strict=True)
            if s.segment_id in thread_of
        ]
        self.trajectories.restore(assigned, made["trajectory"])
        self.thread_of.update(thread_of)
        self._threaded = len(assigned) if self._config.trajectories.enabled else len(segments)
        self._facts.restore(made["extract"], made["supersede"])
        self._heard = self._heard_by(made["extract"])
        stops = accumulate(len(s.message_ids) for s in segments)
        self._extracted = sum(stop <= self._heard for stop in stops)

    def _heard_by(self, decisions: Sequence[Decision]) -> int:
        """How many messages extraction has come to."""
        place = {item.message.message_id: count for count, item in enumerate(self.encoded, start=1)}
        last = {s.segment_id: s.message_ids[-1] for s in self.segmenter.segments}
        named = (d.subject_id if d.kind == _SO_FAR else last[d.subject_id] for d in decisions)
        return max((place[message_id] for message_id in named), default=0)

    def _adopt_closed(self) -> None:
        for segment in self.segmenter.segments[len(self._place_of) :]:
            self._place_of[segment.segment_id] = len(self.unit_of)
            self._segments_by_id[segment.segment_id] = segment
            self.unit_of.update(dict.fromkeys(segment.message_ids, segment.segment_id))

    async def _push_pending(self, following: Sequence[Message] = ()) -> None:
        lookahead = self._config.segments.lookahead
        while self._pushed < len(self.encoded):
            later = [e.message for e in self.encoded[self._pushed + 1 : self._pushed + 1 + lookahead]]
            await self.segmenter.push(self.encoded[self._pushed], [*later, *following][:lookahead])
            self._pushed += 1
            self._adopt_closed()

    async def _digest(self) -> None:
        """Trajectories in order; then extraction of all segments at once; then consolidation in order."""
        segments = self.segmenter.segments
        for index in range(self._threaded, len(segments)):
            if self._config.trajectories.enabled:
                thread = await self.trajectories.assign(segments[index], self.segmenter.pools[index])
                self.thread_of[segments[index].segment_id] = thread
            self._threaded += 1
        if not self._config.core.enabled:
            return
        pending = [(s, self._unheard(s)) for s in segments[self._extracted :]]
        # All are awaited even when one fails: the ledger keeps what the others learned.
        results = await asyncio.gather(
            *(self._facts.extract(s.segment_id, unheard) for s, unheard in pending), return_exceptions=True
        )
        for (segment, unheard), result in zip(pending, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            if unheard:
                await self._facts.write(result, kind="extract", subject_id=segment.segment_id)
            self._heard += len(unheard)
            self._extracted += 1

    def _unheard(self, segment: Segment) -> list[Message]:
        """The messages of a closed segment whose facts were not written while it was open."""
        told = self._heard - self._place_of[segment.segment_id]
        return self.messages_of(segment.segment_id)[max(0, told) :]

    async def _judge_thread(self, case: TrajectoryCase) -> TrajectoryRuling:
        slight = is_slight(self.messages_of(case.segment.segment_id))
        return await (self._by_rule if slight else self._as_configured)(case)


def _segmenter(phi: Phi, config: SegmentConfig, *, thresholds: Thresholds, tools: Tools) -> Segmenter:
    return Segmenter(
        phi,
        tau_split=thresholds.tau_split,
        tau_merge=thresholds.tau_merge,
        judge=boundary_judge(
            tools,
            use_llm=tools.capabilities.uses_llm("boundary", config.decide),
            midpoint=(thresholds.tau_split + thresholds.tau_merge) / 2,
        ),
        per_message=config.unit == "message",
    )


def _by_maker(decisions: Iterable[Decision]) -> dict[str, list[Decision]]:
    """Stored decisions by kind, each in the order in which they were made."""
    made: dict[str, list[Decision]] = {"boundary": [], "trajectory": [], "extract": [], "supersede": []}
    for decision in decisions:
        made["extract" if decision.kind == _SO_FAR else decision.kind].append(decision)
    return made


def _pool(items: Sequence[Encoded]) -> Pool:
    """The running sums of a stored segment, added up in the same order as when it grew."""
    pool = Pool.empty(next((len(e.vector) for e in items if e.vector is not None), 0))
    for item in items:
        pool.add(item.vector, item.entities)
    return pool
