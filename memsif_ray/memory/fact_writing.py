"""From what was said to CoreFacts in the book: extraction, then consolidation (MemSIF 3.3)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager

from memsif_ray.config import CoreFactConfig
from memsif_ray.memory.corefacts import Choice, CoreFacts, choose_by_model, choose_by_rule
from memsif_ray.memory.extraction import Candidate, Extraction, extract_by_model, extract_by_rule
from memsif_ray.memory.facts import FactBook
from memsif_ray.memory.subjects import SubjectRegistry
from memsif_ray.memory.tools import Tools
from memsif_ray.types import Decision, Fact, Message, Vector


class FactWriter:
    """Writes the facts of one stretch of messages at a time.

    Args:
        config: How facts are extracted and consolidated.
        tools: Models.
        subjects: Canonical names of this conversation.
        embed: The embedding of one statement.
        trajectory_of: Segment id → trajectory id, None while it has none.

    Attributes:
        book: CoreFacts.
        read: What was read from each stretch, in the order in which it was written.
    """

    def __init__(
        self,
        config: CoreFactConfig,
        *,
        tools: Tools,
        subjects: SubjectRegistry,
        embed: Callable[[str], Awaitable[Vector]],
        trajectory_of: Callable[[str], str | None],
    ) -> None:
        """Start with an empty book."""
        self.book = FactBook()
        self.read: list[Decision] = []
        self._config, self._tools, self._subjects = config, tools, subjects
        self._core = CoreFacts(
            self.book,
            consolidator=self._consolidate,
            embed=embed,
            top_k=config.top_k,
            trajectory_of=trajectory_of,
        )

    @property
    def superseded(self) -> list[Decision]:
        """Decisions about facts that no longer hold, in order."""
        return self._core.decisions

    def restore(self, read: list[Decision], superseded: list[Decision]) -> None:
        """Take over stored decisions; the facts are the caller's."""
        self.read, self._core.decisions = read, superseded

    async def extract(self, segment_id: str, said: Sequence[Message]) -> Extraction:
        """What messages of a segment say; writes nothing.

        Raises:
            ServiceError: When the endpoint failed.
        """
        messages = [m for m in said if m.content.strip()]
        if not messages:
            return Extraction(())
        if not self._tools.capabilities.uses_llm("extract", self._config.extract):
            return extract_by_rule(messages, segment_id, subjects=self._subjects)
        return await extract_by_model(
            messages,
            segment_id,
            chat=self._tools.chat,
            types=self._config.types,
            subjects=self._subjects,
            scope=self._tools.scope,
        )

    async def write(self, extraction: Extraction, *, kind: str, subject_id: str) -> None:
        """Write what was extracted, all of it or, when a model fails on the way, nothing.

        Args:
            extraction: From `extract`.
            kind: Of the decision that tells what was read.
            subject_id: What it was read from.

        Raises:
            ServiceError: When the endpoint or the embedder failed.
        """
        statements = [c.statement for c in extraction.candidates]
        vectors = list(await self._tools.embedder.embed(statements)) if statements else []
        with self._all_or_nothing():
            for refusal in extraction.refused:
                self._core.refuse(refusal, extraction.decided_by)
            for candidate, vector in zip(extraction.candidates, vectors, strict=True):
                await self._core.write(candidate, vector)
            outcome = "failed" if extraction.failure else f"{len(extraction.candidates)} facts"
            self.read.append(
                Decision(kind, subject_id, outcome, extraction.decided_by, detail=extraction.failure)
            )

    @contextmanager
    def _all_or_nothing(self) -> Iterator[None]:
        before, decided = self.book.copy(), len(self._core.decisions)
        try:
            yield
        except BaseException:  # a cancelled write must not leave half of its facts either
            self.book.revert(before)
            del self._core.decisions[decided:]
            raise

    async def _consolidate(self, candidate: Candidate, offered: Sequence[tuple[Fact, float]]) -> Choice:
        if not self._tools.capabilities.uses_llm("consolidate", self._config.consolidate):
            return choose_by_rule(candidate, offered)
        return await choose_by_model(candidate, offered, chat=self._tools.chat, scope=self._tools.scope)
