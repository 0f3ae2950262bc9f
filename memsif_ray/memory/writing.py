"""The write path: messages → segments → trajectories → CoreFacts (MemSIF 3.2, 3.3)."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from memsif_ray.config import MemoryConfig
from memsif_ray.memory.corefacts import Choice, CoreFacts, choose_by_model, choose_by_rule
from memsif_ray.memory.encoding import Encoder
from memsif_ray.memory.extraction import Candidate, Extraction, extract_by_model, extract_by_rule
from memsif_ray.memory.facts import FactBook
from memsif_ray.memory.judges import boundary_judge, is_slight, trajectory_judge
from memsif_ray.memory.matching import Phi, Pool
from memsif_ray.memory.presets import Thresholds
from memsif_ray.memory.segments import Encoded, Segmenter
from memsif_ray.memory.shelf import VectorShelf
from memsif_ray.memory.subjects import SubjectRegistry
from memsif_ray.memory.tools import Tools
from memsif_ray.memory.trajectories import TrajectoryBuilder, TrajectoryCase, TrajectoryRuling
from memsif_ray.types import Decision, Fact, Message, Segment, StoredVector, Vector


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
        self._decisions: list[Decision] = []
        self._pushed = 0  # encoded messages that are in segments
        self._threaded = 0  # segments that are in trajectories
        self._extracted = 0  # segments whose facts are written
        self._config, self._tools, self._subjects = config, tools, subjects
        self.encoder = Encoder(tools.embedder, tools.entities, speakers)
        phi = Phi(config.matching.alpha, config.matching.normalisation)
        self.segmenter = Segmenter(
            phi,
            tau_split=thresholds.tau_split,
            tau_merge=thresholds.tau_merge,
            judge=boundary_judge(
                tools,
                use_llm=tools.capabilities.uses_llm("boundary", config.segments.decide),
                midpoint=(thresholds.tau_split + thresholds.tau_merge) / 2,
            ),
            per_message=config.segments.unit == "message",
        )
        self.trajectories = TrajectoryBuilder(
            phi,
            top_k=config.trajectories.top_k,
            judge=self._judge_thread,
        )
        self._by_rule, self._as_configured = (
            trajectory_judge(
                tools, use_llm=use_llm, tau_join=thresholds.tau_join, messages_of=self.messages_of
            )
            for use_llm in (False, tools.capabilities.uses_llm("trajectory", config.trajectories.decide))
        )
        self.book = FactBook()
        self._core = CoreFacts(
            self.book,
            consolidator=self._consolidate,
            embed=self.embed,
            top_k=config.core.top_k,
            trajectory_of=self.thread_of.get,
        )

    async def add(self, messages: Sequence[Message]) -> int:
        """Take in messages in order; those whose id is known are skipped. Returns how many were new.

        The last segment stays open for messages to come; `flush` closes it.

        Raises:
            ServiceError: When a model endpoint failed. What was left undone is done by the next call,
                also by one that adds nothing new.
        """
        new = list({m.message_id: m for m in messages if m.message_id not in self.messages}.values())
        for item in await self.encoder.encode(new):
            self.encoded.append(item)
            self.messages[item.message.message_id] = item.message
        await self._push_pending()
        await self._digest()
        return len(new)

    async def flush(self) -> None:
        """Close the open segment and digest it; errors are those of `add`."""
        await self._push_pending()
        self.segmenter.finish()
        await self._digest()

    @property
    def decisions(self) -> tuple[Decision, ...]:
        """Every decision made while building, by kind."""
        return (
            *self.segmenter.decisions,
            *self.trajectories.decisions,
            *self._decisions,
            *self._core.decisions,
        )

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

    def restore(self, tables: Mapping[str, Sequence[Any]], stored: VectorShelf) -> None:
        """Take over stored messages, segments, trajectories and decisions; facts are the caller's."""
        for message in sorted(tables["messages"], key=lambda m: m.position):
            vector, found = stored.get("message", message.message_id), stored.entities(message.message_id)
            self.encoded.append(self.encoder.resume(message, vector, found))
            self.messages[message.message_id] = message
        items = {e.message.message_id: e for e in self.encoded}
        segments = sorted(tables["segments"], key=lambda s: s.start)
        pools = [_pool([items[m] for m in s.message_ids]) for s in segments]
        made = [[d for d in tables["decisions"] if d.kind == kind] for kind in ("boundary", "trajectory")]
        self._decisions = [d for d in tables["decisions"] if d.kind not in ("boundary", "trajectory")]
        thread_of = {s: t.trajectory_id for t in tables["trajectories"] for s in t.segment_ids}
        assigned = [
            (s.segment_id, thread_of[s.segment_id], pool)
            for s, pool in zip(segments, pools, strict=True)
            if s.segment_id in thread_of
        ]
        self.segmenter.restore(segments, pools, made[0])
        self.trajectories.restore(assigned, made[1])
        self._pushed, self._threaded, self._extracted = len(self.encoded), len(segments), len(segments)
        for segment in segments:
            self._adopt(segment, thread_of.get(segment.segment_id))

    def _adopt(self, segment: Segment, trajectory_id: str | None) -> None:
        self._segments_by_id[segment.segment_id] = segment
        self.unit_of.update(dict.fromkeys(segment.message_ids, segment.segment_id))
        if trajectory_id is not None:
            self.thread_of[segment.segment_id] = trajectory_id

    async def _push_pending(self) -> None:
        lookahead = self._config.segments.lookahead
        while self._pushed < len(self.encoded):
            later = self.encoded[self._pushed + 1 : self._pushed + 1 + lookahead]
            await self.segmenter.push(self.encoded[self._pushed], [item.message for item in later])
            self._pushed += 1

    async def _digest(self) -> None:
        """Trajectories in order; then extraction of all segments at once; then consolidation in order."""
        segments = self.segmenter.segments
        for index in range(self._threaded, len(segments)):
            self._adopt(segments[index], None)
            if self._config.trajectories.enabled:
                thread = await self.trajectories.assign(segments[index], self.segmenter.pools[index])
                self._adopt(segments[index], thread)
            self._threaded += 1
        if not self._config.core.enabled:
            return
        pending = segments[self._extracted :]
        # All are awaited even when one fails: the ledger keeps what the others learned.
        results = await asyncio.gather(*map(self._extract, pending), return_exceptions=True)
        for segment, result in zip(pending, results, strict=True):
            if isinstance(result, BaseException):
                raise result
            await self._write(segment, result)
            self._extracted += 1

    async def _judge_thread(self, case: TrajectoryCase) -> TrajectoryRuling:
        slight = is_slight(self.messages_of(case.segment.segment_id))
        return await (self._by_rule if slight else self._as_configured)(case)

    async def _extract(self, segment: Segment) -> Extraction:
        messages = [m for m in self.messages_of(segment.segment_id) if m.content.strip()]
        if not messages:
            return Extraction(())
        if not self._tools.capabilities.uses_llm("extract", self._config.core.extract):
            return extract_by_rule(messages, segment.segment_id, subjects=self._subjects)
        return await extract_by_model(
            messages,
            segment.segment_id,
            chat=self._tools.chat,
            types=self._config.core.types,
            subjects=self._subjects,
            scope=self._tools.scope,
        )

    async def _write(self, segment: Segment, extraction: Extraction) -> None:
        outcome = "failed" if extraction.failure else f"{len(extraction.candidates)} facts"
        self._decisions.append(
            Decision("extract", segment.segment_id, outcome, extraction.decided_by, detail=extraction.failure)
        )
        for refusal in extraction.refused:
            self._core.refuse(refusal, extraction.decided_by)
        if extraction.candidates:
            vectors = await self._tools.embedder.embed([c.statement for c in extraction.candidates])
            for candidate, vector in zip(extraction.candidates, vectors, strict=True):
                await self._core.write(candidate, vector)

    async def _consolidate(self, candidate: Candidate, offered: Sequence[tuple[Fact, float]]) -> Choice:
        if not self._tools.capabilities.uses_llm("consolidate", self._config.core.consolidate):
            return choose_by_rule(candidate, offered)
        return await choose_by_model(candidate, offered, chat=self._tools.chat, scope=self._tools.scope)


def _pool(items: Sequence[Encoded]) -> Pool:
    """The running sums of a stored segment, added up in the same order as when it grew."""
    pool = Pool.empty(next((len(e.vector) for e in items if e.vector is not None), 0))
    for item in items:
        pool.add(item.vector, item.entities)
    return pool
