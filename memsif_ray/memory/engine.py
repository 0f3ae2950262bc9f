"""One conversation's memory: messages in, answer contexts out, everything it decided kept as values.

The same fold serves a batch job, a shard actor and a notebook; it knows neither Ray nor HTTP.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memsif_ray.config import MemoryConfig
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.activefacts import ActiveFacts
from memsif_ray.memory.evidence import DISTIL_LIMIT
from memsif_ray.memory.facts import FactBook, fold
from memsif_ray.memory.presets import resolve_thresholds
from memsif_ray.memory.ranking import InteractionIndex
from memsif_ray.memory.reading import MemoryReader, Query
from memsif_ray.memory.shelf import VectorShelf
from memsif_ray.memory.subjects import SubjectRegistry
from memsif_ray.memory.tools import Tools
from memsif_ray.memory.writing import MemoryWriter
from memsif_ray.prompts.asking import ask
from memsif_ray.text import is_blank, truncate
from memsif_ray.types import (
    Context,
    Evidence,
    Fact,
    FactOperation,
    Message,
    Question,
    Segment,
    StoredVector,
    Track,
    Trajectory,
    Vector,
)

_SYNTHESIS_CHARS = 600
Tables = dict[str, Sequence[Any]]


class ConversationMemory:
    """MemSIF's memory of one conversation.

    Args:
        conversation_id: Whose memory this is.
        config: What it is made of.
        tools: Models, extractors and the token counter.
        speakers: Display names, for canonical subjects.
    """

    def __init__(
        self,
        conversation_id: str,
        *,
        config: MemoryConfig,
        tools: Tools,
        speakers: Sequence[str] = (),
    ) -> None:
        """Start with an empty memory."""
        self.conversation_id = conversation_id
        self._config, self._tools = config, tools
        self._subjects = SubjectRegistry(speakers, user="user" if "user" in speakers else None)
        self._writer = MemoryWriter(
            config=config,
            thresholds=resolve_thresholds(config, tools.embedder.model_id),
            tools=tools,
            subjects=self._subjects,
            speakers=speakers,
        )
        self._active_book = FactBook()
        self.active = ActiveFacts(
            self._active_book,
            config=config.active,
            how=config.matching.normalisation,
            synthesise=self._synthesise,
            embed=self._writer.embed,
        )
        self._reader = MemoryReader(
            config=config.retrieval,
            tools=tools,
            subjects=self._subjects,
            books=(self._writer.book, self._active_book),
            messages=self._writer.messages,
            unit_of=self._writer.unit_of,
        )
        self._index: InteractionIndex | None = None

    async def add(self, messages: Sequence[Message]) -> int:
        """Take in messages in order; known ids are skipped, so adding twice changes nothing.

        Returns:
            How many were new.

        Raises:
            ServiceError: When a model endpoint failed.
        """
        self._index = None
        return await self._writer.add(messages)

    async def flush(self) -> None:
        """Close the open segment: no message is expected to continue it."""
        self._index = None
        await self._writer.flush()

    async def context(self, question: Question) -> Context:
        """The evidence for one question; changes no state. A blank question finds nothing."""
        query = await self._query(question)
        if query is None:
            return Context(())
        return await self._reader.context(query, self._interactions())

    async def learn(self, question: Question, context: Context) -> list[str]:
        """After the answer: let the evidence grow candidates; returns the ids of touched clusters."""
        query = await self._query(question)
        if not self._config.active.enabled or query is None or not context.evidence:
            return []
        chosen = context.evidence[:DISTIL_LIMIT]
        vectors = await self._vectors_of(chosen)
        return await self.active.observe(
            question,
            query.vector,
            list(zip(chosen, vectors, strict=True)),
            messages=self._writer.messages,
            unit_of=self._writer.unit_of,
        )

    def facts(
        self, track: Track | None = None, *, as_of: datetime | None = None, valid_at: datetime | None = None
    ) -> list[Fact]:
        """Facts of one or both tracks: as memory held them at `as_of`, as they held at `valid_at`.

        Without `valid_at` only active versions are given.
        """
        found = [
            fact
            for book in (self._writer.book, self._active_book)
            for fact in fold(book.operations, as_of=as_of, valid_at=valid_at).values()
        ]
        kept = [f for f in found if track is None or f.track is track]
        return kept if valid_at is not None else [f for f in kept if f.status == "active"]

    def operations(self) -> list[FactOperation]:
        """Both fact logs, CoreFacts first."""
        return [*self._writer.book.operations, *self._active_book.operations]

    @property
    def messages(self) -> list[Message]:
        """Every message, in order."""
        return [item.message for item in self._writer.encoded]

    @property
    def segments(self) -> tuple[Segment, ...]:
        """Closed segments, then the open one if any."""
        still_open = self._writer.segmenter.open_segment
        closed = self._writer.segmenter.segments
        return tuple(closed) if still_open is None else (*closed, still_open)

    @property
    def trajectories(self) -> tuple[Trajectory, ...]:
        """Trajectories over closed segments."""
        return self._writer.trajectories.trajectories

    def dump(self) -> Tables:
        """Everything held and decided, as values; call after `flush`."""
        return {
            "messages": self.messages,
            "segments": self.segments,
            "trajectories": self.trajectories,
            "fact_operations": self.operations(),
            "decisions": self._writer.decisions,
            "clusters": self.active.clusters,
            "vectors": self._stored_vectors(),
        }

    def restore(self, tables: Mapping[str, Sequence[Any]]) -> None:
        """Take over a dump, without a model call.

        Raises:
            EmbedderMismatch: When the vectors are another embedder's; nothing is taken over then.
        """
        stored = VectorShelf(tables["vectors"], self._tools.embedder.model_id, self.conversation_id)
        self._writer.restore(tables, stored)
        for operation in tables["fact_operations"]:
            book = self._writer.book if operation.fact.track is Track.CORE else self._active_book
            book.write(operation, stored.get("fact", operation.fact.fact_id))
        clusters = sorted(tables["clusters"], key=lambda c: c.cluster_id)
        self.active.restore(
            clusters,
            [(stored.rows("statement", c.cluster_id), stored.rows("query", c.cluster_id)) for c in clusters],
        )
        self._index = None

    def _stored_vectors(self) -> list[StoredVector]:
        model = self._tools.embedder.model_id
        facts = (*self._writer.book.vectors(), *self._active_book.vectors())
        return [
            *self._writer.stored_vectors(model),
            *(StoredVector("fact", fact_id, model, vector) for fact_id, vector in facts),
            *self.active.stored_vectors(model),
        ]

    def _interactions(self) -> InteractionIndex:
        if self._index is None:
            self._index = InteractionIndex(
                self._writer.encoded,
                self.segments,
                self.trajectories,
                ranking=self._config.retrieval.ranking,
            )
        return self._index

    async def _query(self, question: Question) -> Query | None:
        if is_blank(question.text):
            return None
        return Query(question, await self._writer.embed(question.text))

    async def _vectors_of(self, evidence: Sequence[Evidence]) -> list[Vector]:
        """A near-verbatim statement has its message's vector; a distilled one is embedded."""
        known = {e.message.message_id: e.vector for e in self._writer.encoded}
        verbatim = all(len(item.message_ids) == 1 for item in evidence)
        if verbatim and not self._reader.distils:
            found = [known[item.message_ids[0]] for item in evidence]
            return [v for v in found if v is not None]
        return list(await self._tools.embedder.embed([item.statement for item in evidence]))

    async def _synthesise(self, subject: str, statements: Sequence[str]) -> tuple[str, str]:
        joined = truncate("; ".join(sorted(statements)), _SYNTHESIS_CHARS)
        if not self._tools.capabilities.uses_llm("synthesise", self._config.active.synthesise):
            return joined, "rule"
        try:
            reply = await ask(
                self._tools.chat,
                "promote",
                stage="promote",
                scope=self._tools.scope,
                max_tokens=160,
                subject=subject,
                notes=statements,
            )
        except ReplyInvalid:
            return joined, "fallback"
        return reply["statement"].strip() or joined, "llm"
