"""What the MCP tools and the Mem0-shaped facade ask of a memory: `Client` and `memsif_ray.Memory` do it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any, Protocol

from memsif_ray.service.arguments import Messages
from memsif_ray.service.models import (
    Erased,
    HistoryEntry,
    Memory,
    Operation,
    Provenance,
    SearchResult,
)


class Remembers(Protocol):
    """Takes messages in, says what it knows, and can be corrected, explained and erased.

    The verbs and errors are those of `Client`: NotFound for an unknown id, Conflict for a lost race, and
    other MemsifErrors.
    """

    def add(self, messages: Messages, *, conversation_id: str, wait: bool = ...) -> Operation:
        """Remember messages; with `wait`, return when they are digested."""
        ...

    def search(
        self,
        query: str,
        *,
        conversation_id: str,
        top_k: int | None = ...,
        filters: Mapping[str, Any] | None = ...,
    ) -> SearchResult:
        """What memory has to say, best first."""
        ...

    def list(
        self, conversation_id: str, *, valid_at: datetime | None = ..., page_size: int = ...
    ) -> Iterator[Memory]:
        """All memories in use."""
        ...

    def get(self, memory_id: str) -> Memory:
        """One memory."""
        ...

    def update(self, memory_id: str, text: str, *, if_version: int | None = ...) -> Memory:
        """Correct a memory."""
        ...

    def delete(self, memory_id: str) -> Memory:
        """Take a memory out of use."""
        ...

    def history(self, memory_id: str) -> Iterator[HistoryEntry]:
        """All operations on a memory, oldest first."""
        ...

    def provenance(self, memory_id: str) -> Provenance:
        """Why a memory is there."""
        ...

    def erase_conversation(self, conversation_id: str) -> Erased:
        """Remove everything about a conversation for good."""
        ...
