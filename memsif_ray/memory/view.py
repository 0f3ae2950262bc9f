"""What a memory held at one moment: questions are answered from it while the memory itself goes on."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property

from memsif_ray.config import RetrievalConfig
from memsif_ray.memory.activefacts import Candidates
from memsif_ray.memory.facts import FactBook, fold
from memsif_ray.memory.ranking import InteractionIndex
from memsif_ray.memory.reading import MemoryReader, Query
from memsif_ray.memory.segments import Encoded
from memsif_ray.memory.subjects import SubjectRegistry
from memsif_ray.memory.tools import Tools
from memsif_ray.text import is_blank
from memsif_ray.types import Context, Fact, FactOperation, Message, Question, Segment, Track, Trajectory


@dataclass(slots=True)
class LatestIndex:
    """The index that was made last for a memory, if any."""

    index: InteractionIndex | None = None


class Interactions:
    """The interaction memory at one moment; its index is made when it is first needed.

    Args:
        encoded: Every message, in order.
        segments: The open one included.
        trajectories: Over closed segments.
        unit_of: Message id → id of its closed segment.
        config: How messages are ranked.
        latest: Kept from one moment to the next, so that no message is indexed twice.
    """

    def __init__(
        self,
        encoded: Sequence[Encoded],
        segments: Sequence[Segment],
        trajectories: Sequence[Trajectory],
        *,
        unit_of: Mapping[str, str],
        config: RetrievalConfig,
        latest: LatestIndex,
    ) -> None:
        """Copy what will change."""
        self.encoded, self.segments = tuple(encoded), tuple(segments)
        self.trajectories, self.unit_of = tuple(trajectories), dict(unit_of)
        self.messages: dict[str, Message] = {e.message.message_id: e.message for e in encoded}
        self._config, self._latest = config, latest

    @cached_property
    def index(self) -> InteractionIndex:
        """Made once, from the latest; the first one of thousands of messages takes half a second."""
        self._latest.index = InteractionIndex(
            self.encoded,
            self.segments,
            self.trajectories,
            ranking=self._config.ranking,
            earlier=self._latest.index,
        )
        return self._latest.index


class MemoryView:
    """One moment of a `ConversationMemory`; later writes do not show.

    Args:
        said: Messages and their structure.
        core: Book of CoreFacts, not to be written to any more.
        active: Book of ActiveFacts, likewise.
        candidates: What may become ActiveFacts.
        config: Budget, depth and who decides.
        tools: Models and token counter.
        subjects: Canonical names.
    """

    def __init__(
        self,
        said: Interactions,
        core: FactBook,
        active: FactBook,
        *,
        candidates: Candidates,
        config: RetrievalConfig,
        tools: Tools,
        subjects: SubjectRegistry,
    ) -> None:
        """Keep them."""
        self.candidates = candidates
        self.said, self.core, self.active, self._tools = said, core, active, tools
        self._reader = MemoryReader(
            config=config,
            tools=tools,
            subjects=subjects,
            books=(core, active),
            messages=said.messages,
            unit_of=said.unit_of,
        )

    async def query(self, question: Question) -> Query | None:
        """The question with its embedding; None for a blank one."""
        if is_blank(question.text):
            return None
        return Query(question, (await self._tools.embedder.embed([question.text]))[0])

    async def context(self, question: Question) -> Context:
        """The evidence for one question. A blank question finds nothing.

        Raises:
            ServiceError: When a model endpoint failed.
        """
        query = await self.query(question)
        return Context(()) if query is None else await self._reader.context(query, self.said.index)

    def facts(
        self,
        track: Track | None = None,
        *,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        every: bool = False,
    ) -> list[Fact]:
        """Facts of one or both tracks: as memory held them at `as_of`, as they held at `valid_at`.

        Without `valid_at` only active versions are given, or with `every` also those that were replaced or
        retracted.
        """
        found = [
            fact
            for book in (self.core, self.active)
            for fact in fold(book.operations, as_of=as_of, valid_at=valid_at).values()
            if fact.status != "erased" and track in (None, fact.track)
        ]
        wanted = every or valid_at is not None
        return [f for f in found if wanted or f.status == "active"]

    def operations(self) -> list[FactOperation]:
        """Both fact logs, CoreFacts first."""
        return [*self.core.operations, *self.active.operations]
