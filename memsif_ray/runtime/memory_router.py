"""A `Backend` that hands each call to the shard that owns the conversation."""

from __future__ import annotations

import asyncio
import uuid
from collections import OrderedDict
from datetime import datetime
from typing import Literal

from memsif_ray.errors import MemsifError, NotFound
from memsif_ray.runtime.memory_lines import ShardLine
from memsif_ray.runtime.memory_shards import Shards, ShardsConfig, shard_of
from memsif_ray.service.backend import Backend, Caller, Load, Paging
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.ids import read_memory_id, read_operation_id
from memsif_ray.service.models import (
    AnswerRequest,
    AnswerResult,
    AuditEntry,
    Bundle,
    Candidate,
    ConversationOut,
    Erased,
    HistoryEntry,
    IngestRequest,
    Memory,
    MemoryChange,
    Operation,
    Page,
    Provenance,
    SearchRequest,
    SearchResult,
    SegmentOut,
    SourceMessage,
    Successor,
    TenantUsage,
    TrajectoryOut,
    Usage,
)
from memsif_ray.service.store import MemoryStore

_NAMES_KEPT = 10_000
_LOAD_S = 2.0
"""How long metrics wait for a shard: whoever scrapes them has little patience."""


class ShardedConversations:
    """Implements `Backend`; stateless, so that any number of API replicas may have one.

    An id of a memory or operation holds the key of its conversation. Whose that is, the store knows; keys are
    never used again, so an answer stays right for ever.

    Args:
        config: Of the shards; somebody else starts them (`Keeper`).
        store: To look up keys; closed with this.
    """

    def __init__(self, config: ShardsConfig, store: MemoryStore) -> None:
        """Look for no shard yet."""
        self._store = store
        self._lines = [ShardLine(Shards(config), number) for number in range(config.shards)]
        self._names: OrderedDict[tuple[str, str], str] = OrderedDict()

    async def ingest(
        self, caller: Caller, request: IngestRequest, *, idempotency_key: str | None = None
    ) -> Operation:
        """See `Backend.ingest`. It always has a key, so that no shard's death stores it twice."""
        once = idempotency_key or f"once-{uuid.uuid4().hex}"
        line = self._line(caller, request.conversation_id)
        return await line.send(Conversations.ingest, caller, request, idempotency_key=once)

    async def search(self, caller: Caller, request: SearchRequest) -> SearchResult:
        """See `Backend.search`."""
        line = self._line(caller, request.conversation_id)
        return await line.send(Conversations.search, caller, request)

    async def answer(self, caller: Caller, request: AnswerRequest) -> AnswerResult:
        """See `Backend.answer`."""
        line = self._line(caller, request.conversation_id)
        return await line.send(Conversations.answer, caller, request)

    async def conversations(self, caller: Caller, paging: Paging) -> Page[ConversationOut]:
        """See `Backend.conversations`."""
        return await self._line(caller).send(Conversations.conversations, caller, paging)

    async def messages(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[SourceMessage]:
        """See `Backend.messages`."""
        line = self._line(caller, conversation_id)
        return await line.send(Conversations.messages, caller, conversation_id, paging)

    async def memories(
        self,
        caller: Caller,
        conversation_id: str,
        paging: Paging,
        *,
        track: Literal["core", "active"] | None = None,
        type: str | None = None,
        status: Literal["active", "all"] = "active",
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> Page[Memory]:
        """See `Backend.memories`."""
        return await self._line(caller, conversation_id).send(
            Conversations.memories,
            caller,
            conversation_id,
            paging,
            track=track,
            type=type,
            status=status,
            as_of=as_of,
            valid_at=valid_at,
        )

    async def memory(self, caller: Caller, memory_id: str) -> Memory:
        """See `Backend.memory`."""
        line = await self._line_of_memory(caller, memory_id)
        return await line.send(Conversations.memory, caller, memory_id)

    async def change(
        self, caller: Caller, memory_id: str, change: MemoryChange, *, if_version: int | None = None
    ) -> Memory:
        """See `Backend.change`."""
        line = await self._line_of_memory(caller, memory_id)
        return await line.send(Conversations.change, caller, memory_id, change, if_version=if_version)

    async def supersede(self, caller: Caller, memory_id: str, successor: Successor) -> Memory:
        """See `Backend.supersede`."""
        line = await self._line_of_memory(caller, memory_id)
        return await line.send(Conversations.supersede, caller, memory_id, successor)

    async def retract(self, caller: Caller, memory_id: str) -> Memory:
        """See `Backend.retract`."""
        line = await self._line_of_memory(caller, memory_id)
        return await line.send(Conversations.retract, caller, memory_id)

    async def restore(self, caller: Caller, memory_id: str) -> Memory:
        """See `Backend.restore`."""
        line = await self._line_of_memory(caller, memory_id)
        return await line.send(Conversations.restore, caller, memory_id)

    async def erase_memory(self, caller: Caller, memory_id: str, *, dry_run: bool = False) -> Erased:
        """See `Backend.erase_memory`."""
        line = await self._line_of_memory(caller, memory_id)
        return await line.send(Conversations.erase_memory, caller, memory_id, dry_run=dry_run)

    async def erase_conversation(
        self, caller: Caller, conversation_id: str, *, dry_run: bool = False
    ) -> Erased:
        """See `Backend.erase_conversation`."""
        line = self._line(caller, conversation_id)
        return await line.send(Conversations.erase_conversation, caller, conversation_id, dry_run=dry_run)

    async def history(self, caller: Caller, memory_id: str) -> tuple[HistoryEntry, ...]:
        """See `Backend.history`."""
        line = await self._line_of_memory(caller, memory_id)
        return await line.send(Conversations.history, caller, memory_id)

    async def provenance(self, caller: Caller, memory_id: str) -> Provenance:
        """See `Backend.provenance`."""
        line = await self._line_of_memory(caller, memory_id)
        return await line.send(Conversations.provenance, caller, memory_id)

    async def segments(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[SegmentOut]:
        """See `Backend.segments`."""
        line = self._line(caller, conversation_id)
        return await line.send(Conversations.segments, caller, conversation_id, paging)

    async def trajectories(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[TrajectoryOut]:
        """See `Backend.trajectories`."""
        line = self._line(caller, conversation_id)
        return await line.send(Conversations.trajectories, caller, conversation_id, paging)

    async def candidates(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[Candidate]:
        """See `Backend.candidates`."""
        line = self._line(caller, conversation_id)
        return await line.send(Conversations.candidates, caller, conversation_id, paging)

    async def operation(self, caller: Caller, operation_id: str) -> Operation:
        """See `Backend.operation`."""
        line = await self._line_of_operation(caller, operation_id)
        return await line.send(Conversations.operation, caller, operation_id)

    async def cancel(self, caller: Caller, operation_id: str) -> Operation:
        """See `Backend.cancel`."""
        line = await self._line_of_operation(caller, operation_id)
        return await line.send(Conversations.cancel, caller, operation_id)

    async def retry(self, caller: Caller, operation_id: str) -> Operation:
        """See `Backend.retry`."""
        line = await self._line_of_operation(caller, operation_id)
        return await line.send(Conversations.retry, caller, operation_id)

    async def export(self, caller: Caller, conversation_id: str) -> Bundle:
        """See `Backend.export`."""
        line = self._line(caller, conversation_id)
        return await line.send(Conversations.export, caller, conversation_id)

    async def import_(self, caller: Caller, bundle: Bundle) -> Operation:
        """See `Backend.import_`."""
        line = self._line(caller, bundle.conversation_id)
        return await line.send(Conversations.import_, caller, bundle)

    async def usage(self, caller: Caller, *, since: datetime | None = None) -> TenantUsage:
        """See `Backend.usage`. What other shards used in the last seconds may not be written yet."""
        return await self._line(caller).send(Conversations.usage, caller, since=since)

    async def audit(self, caller: Caller, paging: Paging) -> Page[AuditEntry]:
        """See `Backend.audit`."""
        return await self._line(caller).send(Conversations.audit, caller, paging)

    async def check(self) -> None:
        """See `Backend.check`; every shard touches the store and the models."""
        await self._store.ping()
        await asyncio.gather(*(line.care(Conversations.check) for line in self._lines))

    async def load(self) -> Load:
        """Of all shards together that answer at once: one that is being restarted does not."""
        answers = await asyncio.gather(*map(_load_of, self._lines))
        loads = [load for load in answers if load is not None]
        return Load(
            shards=len(self._lines),
            shards_up=len(loads),
            live_conversations=sum(load.live_conversations for load in loads),
            queued=sum(load.queued for load in loads),
            usage=Usage(
                prompt_tokens=sum(load.usage.prompt_tokens for load in loads),
                completion_tokens=sum(load.usage.completion_tokens for load in loads),
                model_calls=sum(load.usage.model_calls for load in loads),
                embedded_texts=sum(load.usage.embedded_texts for load in loads),
            ),
        )

    async def close(self) -> None:
        """Let go of the store. The shards serve other replicas too, and go on."""
        await self._store.close()

    def _line(self, caller: Caller, conversation_id: str = "") -> ShardLine:
        """To the owner; what is about the whole tenant may be asked of any shard, so that of no name."""
        return self._lines[shard_of(caller.tenant, conversation_id, len(self._lines))]

    async def _line_of_memory(self, caller: Caller, memory_id: str) -> ShardLine:
        key, _ = read_memory_id(memory_id)
        return await self._line_of_key(caller, key, f"memory {memory_id!r}")

    async def _line_of_operation(self, caller: Caller, operation_id: str) -> ShardLine:
        key = read_operation_id(operation_id)
        return await self._line_of_key(caller, key, f"operation {operation_id!r}")

    async def _line_of_key(self, caller: Caller, key: str, what: str) -> ShardLine:
        place = (caller.tenant, key)
        name = self._names.get(place)
        if name is None:
            row = await self._store.conversation_of_key(caller.tenant, key)
            if row is None:  # in the same words as for an id that nobody has
                raise NotFound(f"no {what}")
            self._names[place] = name = row.conversation_id
            if len(self._names) > _NAMES_KEPT:
                self._names.popitem(last=False)
        return self._line(caller, name)


async def _load_of(line: ShardLine) -> Load | None:
    try:
        async with asyncio.timeout(_LOAD_S):
            return await line.care(Conversations.load)
    except (MemsifError, TimeoutError):
        return None


def _is_a_backend(sharded: ShardedConversations) -> Backend:
    """For the type checker: every method is there, with the same signature."""
    return sharded
