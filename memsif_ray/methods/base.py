"""What every compared system offers: one Protocol, so that all are driven, metered and graded alike."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from memsif_ray.memory.capabilities import Capabilities
from memsif_ray.ports import ChatModel, Embedder, EntityExtractor, TokenCounter
from memsif_ray.types import Context, Conversation, Question


@dataclass(frozen=True, slots=True)
class Tools:
    """The ports a method may use. Every call through them is metered by whoever built them.

    Attributes:
        capabilities: Which decisions the chat model can be trusted with; resolves `auto` settings.
        seed: Seed of sampled calls.
        run: Number of the independent run, from 0; part of every call's scope.
    """

    chat: ChatModel
    embedder: Embedder
    entities: EntityExtractor
    tokens: TokenCounter
    capabilities: Capabilities
    seed: int = 0
    run: int = 0


Tables = dict[str, Sequence[Any]]
"""Table name → frozen values (e.g. `segments` → Segment); `storage.tables` turns them into Parquet."""


class MemoryMethod(Protocol):
    """A memory of one conversation. State never crosses conversations."""

    name: str

    async def ingest(self, conversation: Conversation) -> None:
        """Build memory from a whole history. Independent of questions."""
        ...

    def dump(self) -> Tables:
        """Everything memory holds and every decision it made, as values for tables."""
        ...

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restore what `ingest` built, from a dump, without a model call.

        Raises:
            EmbedderMismatch: When the dump's vectors are another embedder's.
        """
        ...

    async def context(self, question: Question) -> Context:
        """The evidence for one question, within the configured token budget. Changes no state."""
        ...

    async def learn(self, question: Question, context: Context) -> None:
        """Called once after the answer exists, in question order; sees neither answer nor grade."""
        ...
