"""One conversation's memory: messages in, answer contexts out, everything it decided kept as values.

The same fold serves a batch job, a shard actor and a notebook; it knows neither Ray nor HTTP.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import datetime
from functools import partial
from typing import Any

from memsif_ray.config import MemoryConfig
from memsif_ray.errors import NotFound
from memsif_ray.memory import byhand
from memsif_ray.memory.activefacts import ActiveFacts
from memsif_ray.memory.evidence import DISTIL_LIMIT
from memsif_ray.memory.facts import FactBook
from memsif_ray.memory.presets import resolve_thresholds
from memsif_ray.memory.record import Record
from memsif_ray.memory.shelf import VectorShelf
from memsif_ray.memory.subjects import SubjectRegistry
from memsif_ray.memory.synthesis import synthesised
from memsif_ray.memory.tools import Tools
from memsif_ray.memory.view import Interactions, LatestIndex, MemoryView
from memsif_ray.memory.writing import MemoryWriter
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
            synthesise=partial(synthesised, tools=tools, config=config.active),
            embed=self._writer.embed,
        )
        self._latest = LatestIndex()
        self._said: Interactions | None = None
        self._view: MemoryView | None = None

    async def add(self, messages: Sequence[Message], *, following: Sequence[Message] = ()) -> int:
        """Take in messages in order; known ids are skipped, so adding twice changes nothing.

        Args:
            messages: In order.
            following: Messages that are known to come next; a boundary judge may look at them.

        Returns:
            How many were new.

        Raises:
            ServiceError: When a model endpoint failed. What was left undone is done by the next call.
        """
        with self._changing():
            return await self._writer.add(messages, following=following)

    async def flush(self) -> None:
        """Close the open segment: no message is expected to continue it."""
        with self._changing():
            await self._writer.flush()

    async def settle(self) -> None:
        """Write the facts of the open segment so far, which may go on; errors are those of `add`.

        For a memory that is asked between messages: it costs an extraction per call instead of one per topic.
        """
        with self._changing():
            await self._writer.settle()

    def view(self) -> MemoryView:
        """What is held now; cheap, and the same object until something is written."""
        if self._said is None:
            self._said = Interactions(
                self._writer.encoded,
                self.segments,
                self.trajectories,
                unit_of=self._writer.unit_of,
                config=self._config.retrieval,
                latest=self._latest,
            )
        if self._view is None:
            self._view = MemoryView(
                self._said,
                self._writer.book.copy(),
                self._active_book.copy(),
                candidates=self.active.candidates(),
                config=self._config.retrieval,
                tools=self._tools,
                subjects=self._subjects,
            )
        return self._view

    async def context(self, question: Question) -> Context:
        """The evidence for one question; changes no state. A blank question finds nothing."""
        return await self.view().context(question)

    async def learn(self, question: Question, context: Context) -> list[str]:
        """After the answer: let the evidence grow candidates; returns the ids of touched clusters."""
        query = await self.view().query(question)
        if not self._config.active.enabled or query is None or not context.evidence:
            return []
        chosen = context.evidence[:DISTIL_LIMIT]
        vectors = await self._vectors_of(chosen)
        with self._changing(facts_only=True):
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
        """See `MemoryView.facts`."""
        return self.view().facts(track, as_of=as_of, valid_at=valid_at)

    def operations(self) -> list[FactOperation]:
        """Both fact logs, CoreFacts first."""
        return [*self._writer.book.operations, *self._active_book.operations]

    async def correct(
        self, fact_id: str, at: datetime, *, statement: str | None = None, **validity: datetime | None
    ) -> Fact:
        """A person's Update; see `byhand.correction`."""
        book = self._book_of(fact_id)
        operation = byhand.correction(book, fact_id, at, statement=statement, **validity)
        vector = None if statement is None else await self._writer.embed(statement)
        return self._write(book, operation, vector)

    async def replace(self, fact_id: str, at: datetime, *, statement: str, since: datetime | None) -> Fact:
        """A person's Supersede; see `byhand.succession`. Returns the new fact."""
        book = self._book_of(fact_id)
        operation = byhand.succession(book, fact_id, at, statement=statement, since=since)
        return self._write(book, operation, await self._writer.embed(statement))

    def retract(self, fact_id: str, at: datetime) -> Fact:
        """Take a fact out of use; see `byhand.retraction`."""
        book = self._book_of(fact_id)
        return self._write(book, byhand.retraction(book, fact_id, at), None)

    def reinstate(self, fact_id: str, at: datetime) -> Fact:
        """Undo a retraction; see `byhand.restoration`."""
        book = self._book_of(fact_id)
        return self._write(book, byhand.restoration(book, fact_id, at), None)

    def erase(self, fact_id: str) -> None:
        """Remove all that a fact says, in every version and in clusters; its place in the log stays.

        Raises:
            NotFound: When there is no such fact.
        """
        said = byhand.erase(self._book_of(fact_id), fact_id)
        self.active.forget(fact_id, said)
        self._writer.forget_details()
        self._view = None

    def __len__(self) -> int:
        """How many messages were taken in."""
        return len(self._writer.encoded)

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

    def record(self) -> Record:
        """The values that a memory consists of, for whoever stores only what changed since last time."""
        return Record(
            said=tuple(self._writer.encoded),
            found=self._writer.encoder.found,
            segments=tuple(self._writer.segmenter.segments),
            trajectories=self.trajectories,
            operations={"core": self._writer.book.operations[:], "active": self._active_book.operations[:]},
            decisions={kind: made[:] for kind, made in self._writer.decisions_by_maker().items()},
            clusters=self.active.clusters[:],
            vectors_of=self._vectors_of_unit,
        )

    def _vectors_of_unit(self, kind: str, unit_id: str) -> Sequence[Vector]:
        """Embeddings of a fact (one, or none), or of a cluster's statements or queries in order."""
        if kind != "fact":
            return list(self.active.vectors(kind, unit_id))
        book = self._active_book if self._active_book.knows(unit_id) else self._writer.book
        return [book.vector(unit_id)] if book.knows(unit_id) else []

    def dump(self) -> Tables:
        """Everything held and decided, as values, at any moment that nothing is being written.

        The segment that is still open is not among them: what it holds follows from the rest.
        """
        return {
            "messages": self.messages,
            "segments": tuple(self._writer.segmenter.segments),
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
        self._said = self._view = None

    @contextmanager
    def _changing(self, *, facts_only: bool = False) -> Iterator[None]:
        """What was viewed before a change, or in the middle of it, is not the view after it."""
        try:
            yield
        finally:
            self._view = None
            self._said = self._said if facts_only else None

    def _book_of(self, fact_id: str) -> FactBook:
        for book in (self._writer.book, self._active_book):
            if book.knows(fact_id):
                return book
        raise NotFound(f"no memory {fact_id!r}")

    def _write(self, book: FactBook, operation: FactOperation, vector: Vector | None) -> Fact:
        self._view = None
        book.write(operation, vector)
        return book.get(operation.fact.fact_id)

    def _stored_vectors(self) -> list[StoredVector]:
        model = self._tools.embedder.model_id
        facts = (*self._writer.book.vectors(), *self._active_book.vectors())
        return [
            *self._writer.stored_vectors(model),
            *(StoredVector("fact", fact_id, model, vector) for fact_id, vector in facts),
            *self.active.stored_vectors(model),
        ]

    async def _vectors_of(self, evidence: Sequence[Evidence]) -> list[Vector]:
        """A near-verbatim statement has its message's vector; a distilled one is embedded."""
        known = {e.message.message_id: e.vector for e in self._writer.encoded}
        verbatim = all(len(item.message_ids) == 1 for item in evidence)
        if verbatim and not self._tools.capabilities.uses_llm("distil", self._config.retrieval.evidence):
            found = [known[item.message_ids[0]] for item in evidence]
            return [v for v in found if v is not None]
        return list(await self._tools.embedder.embed([item.statement for item in evidence]))
