"""A memory in this process behind the verbs of a client: one conversation, no server."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import count
from typing import TYPE_CHECKING, Any

from memsif_ray.api.client.arguments import Messages, checked, listed
from memsif_ray.errors import NotFound
from memsif_ray.service.models import (
    Found,
    IngestRequest,
    Memory,
    MessageIn,
    Operation,
    OperationStatus,
    SearchResult,
)

if TYPE_CHECKING:
    from memsif_ray import library
    from memsif_ray.types import ContextItem, Fact


class EmbeddedMemory:
    """Implements `Remembers` over `memsif_ray.Memory`. Threads may share it; they take turns.

    Args:
        memory: Closed by whoever made it.
        conversation_id: The name by which its only conversation is known.
    """

    def __init__(self, memory: library.Memory, conversation_id: str) -> None:
        """Nothing happens yet."""
        self._memory = memory
        self._conversation_id = conversation_id
        self._turn = threading.Lock()
        self._numbers = count(1)

    def add(self, messages: Messages, *, conversation_id: str, wait: bool = False) -> Operation:
        """Remember messages; they are digested when this returns, also without `wait`."""
        self._is_mine(conversation_id)
        request = checked(IngestRequest, conversation_id=conversation_id, messages=listed(messages))
        began = datetime.now(UTC)
        with self._turn:
            new = self._memory.add([_plain(message) for message in request.messages])
        return Operation(
            id=f"op_{next(self._numbers)}",
            kind="ingest",
            conversation_id=conversation_id,
            status=OperationStatus.DONE,
            created_at=began,
            updated_at=datetime.now(UTC),
            accepted=new,
            duplicates=len(request.messages) - new,
        )

    def search(self, query: str, *, conversation_id: str, top_k: int | None = None) -> SearchResult:
        """What memory has to say, best first."""
        self._is_mine(conversation_id)
        with self._turn:
            items = self._memory.search(query).items
        best = sorted(items, key=lambda item: -item.score)[:top_k]
        return SearchResult(results=tuple(map(_found, best)))

    def list(
        self, conversation_id: str, *, valid_at: datetime | None = None, page_size: int = 100
    ) -> Iterator[Memory]:
        """All memories in use."""
        self._is_mine(conversation_id)
        with self._turn:
            facts = self._memory.facts(valid_at=valid_at)
        return (self._out(fact) for fact in facts)

    def get(self, memory_id: str) -> Memory:
        """One memory in use."""
        for memory in self.list(self._conversation_id):
            if memory.id == memory_id:
                return memory
        raise NotFound(f"no memory {memory_id}")

    def _is_mine(self, conversation_id: str) -> None:
        if conversation_id != self._conversation_id:
            raise NotFound(f"this memory has one conversation: {self._conversation_id}")

    def _out(self, fact: Fact) -> Memory:
        return Memory(
            id=fact.fact_id,
            conversation_id=self._conversation_id,
            track=fact.track,
            type=fact.type,
            subject=fact.subject,
            attribute=fact.attribute,
            text=fact.statement,
            status=fact.status,
            version=0,  # nobody can bind a change to it here
            ingested_at=fact.ingested_at,
            event_time=fact.event_time,
            valid_from=fact.valid_from,
            valid_to=fact.valid_to,
            replaced_by=fact.replaced_by,
            message_ids=fact.message_ids,
            segment_ids=fact.segment_ids,
        )


def _plain(message: MessageIn) -> dict[str, Any]:
    return message.model_dump(include={"content", "role", "name", "timestamp", "id"}, exclude_none=True)


def _found(item: ContextItem) -> Found:
    return Found(
        id=item.item_id,
        type=item.kind,
        text=item.text,
        score=item.score,
        message_ids=item.message_ids,
        event_time=item.timestamp,
    )
