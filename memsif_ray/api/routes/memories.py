"""Memories: taking messages in, and reading and correcting what was made of them."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from fastapi import Body, Query, Response

from memsif_ray.api.batches import ingest_all
from memsif_ray.api.dependencies import (
    BackendOf,
    CallerOf,
    ConversationInQuery,
    DryRun,
    IdempotencyKey,
    MemoryId,
    PagingOf,
    VersionWanted,
    etag,
    router,
)
from memsif_ray.service.models import (
    BatchRequest,
    BatchResult,
    Erased,
    HistoryEntry,
    IngestRequest,
    Memory,
    MemoryChange,
    Name,
    Operation,
    Page,
    Provenance,
    Successor,
)

ROUTER = router("Memories")

_INGEST = {
    "two turns": {
        "summary": "Two turns of a dialogue",
        "value": {
            "conversation_id": "amy",
            "messages": [
                {"content": "I moved to Utrecht in May.", "name": "Amy", "timestamp": "2024-05-20T18:00:00"},
                {"content": "How do you like it there?", "role": "assistant"},
            ],
        },
    },
    "a text": {"summary": "A text will do", "value": {"conversation_id": "amy", "messages": "I like tea."}},
}


@ROUTER.post(
    "/v1/memories",
    status_code=202,
    summary="Remember messages",
    responses={200: {"model": Operation, "description": "Digested (`wait`), or tried (`dry_run`)"}},
)
async def ingest(
    body: Annotated[IngestRequest, Body(openapi_examples=_INGEST)],  # type: ignore[arg-type]
    response: Response,
    backend: BackendOf,
    caller: CallerOf,
    idempotency_key: IdempotencyKey = None,
) -> Operation:
    """Store messages, in order. When the reply arrives they are on disk; digesting them takes longer.

    `202` names an operation to ask about; with `wait` the reply is `200` and comes when they are digested.
    Sending the same messages again changes nothing: give `id`s, or an `Idempotency-Key`.
    """
    operation = await backend.ingest(caller, body, idempotency_key=idempotency_key)
    if body.wait or body.dry_run:
        response.status_code = 200
    if not body.dry_run:
        response.headers["Location"] = f"/v1/operations/{operation.id}"
    return operation


@ROUTER.post("/v1/memories:batch", status_code=202, summary="Remember messages of many conversations")
async def ingest_batch(
    body: BatchRequest, backend: BackendOf, caller: CallerOf, idempotency_key: IdempotencyKey = None
) -> BatchResult:
    """As many `POST /v1/memories` at once; one that fails is reported in its place, the others go on."""
    return await ingest_all(backend, caller, body.requests, idempotency_key=idempotency_key)


@ROUTER.get("/v1/memories", summary="List the memories of a conversation")
async def list_memories(
    conversation_id: ConversationInQuery,
    backend: BackendOf,
    caller: CallerOf,
    paging: PagingOf,
    track: Annotated[Literal["core", "active"] | None, Query(description="CoreFacts or ActiveFacts")] = None,
    type: Annotated[Name | None, Query(description="CoreFact type, e.g. `Preference`")] = None,
    status: Annotated[
        Literal["active", "all"], Query(description="`all` adds retired and retracted ones")
    ] = "active",
    as_of: Annotated[datetime | None, Query(description="As memory was then")] = None,
    valid_at: Annotated[datetime | None, Query(description="What held then")] = None,
) -> Page[Memory]:
    """By id. Two times can be asked about: when memory learned it (`as_of`), when it held (`valid_at`)."""
    return await backend.memories(
        caller,
        conversation_id,
        paging,
        track=track,
        type=type,
        status=status,
        as_of=as_of,
        valid_at=valid_at,
    )


@ROUTER.get("/v1/memories/{memory_id}", summary="One memory")
async def get_memory(memory_id: MemoryId, response: Response, backend: BackendOf, caller: CallerOf) -> Memory:
    """In its latest version; the `ETag` is what a change can be bound to."""
    return _tagged(await backend.memory(caller, memory_id), response)


@ROUTER.patch("/v1/memories/{memory_id}", summary="Correct a memory")
async def change_memory(
    memory_id: MemoryId,
    body: MemoryChange,
    response: Response,
    backend: BackendOf,
    caller: CallerOf,
    if_version: VersionWanted,
) -> Memory:
    """Writes an Update; the earlier version stays in the history. `If-Match` guards against lost changes."""
    return _tagged(await backend.change(caller, memory_id, body, if_version=if_version), response)


@ROUTER.delete("/v1/memories/{memory_id}", summary="Retract or erase a memory")
async def delete_memory(
    memory_id: MemoryId,
    backend: BackendOf,
    caller: CallerOf,
    hard: Annotated[bool, Query(description="Erase every version for good")] = False,
    dry_run: DryRun = False,
) -> Memory | Erased:
    """Takes it out of use, to be restored if need be; or, with `hard`, removes every version for good.

    The messages it was made of stay: `DELETE /v1/conversations/{conversation_id}` removes those, and says
    what may be left on a disk.
    """
    if hard:
        return await backend.erase_memory(caller, memory_id, dry_run=dry_run)
    if dry_run:
        return await backend.memory(caller, memory_id)
    return await backend.retract(caller, memory_id)


@ROUTER.get("/v1/memories/{memory_id}/history", summary="How a memory came to be what it is")
async def history(memory_id: MemoryId, backend: BackendOf, caller: CallerOf) -> Page[HistoryEntry]:
    """All operations on it, oldest first."""
    return Page[HistoryEntry](results=await backend.history(caller, memory_id))


@ROUTER.get("/v1/memories/{memory_id}/provenance", summary="Why a memory is there")
async def provenance(memory_id: MemoryId, backend: BackendOf, caller: CallerOf) -> Provenance:
    """Down to the messages, by way of segments and trajectories; for an ActiveFact also the questions."""
    return await backend.provenance(caller, memory_id)


@ROUTER.post("/v1/memories/{memory_id}/supersede", summary="Replace a memory that is no longer true")
async def supersede(
    memory_id: MemoryId, body: Successor, response: Response, backend: BackendOf, caller: CallerOf
) -> Memory:
    """Returns the new memory; the old one ends where the new one begins."""
    return _tagged(await backend.supersede(caller, memory_id, body), response)


@ROUTER.post("/v1/memories/{memory_id}/restore", summary="Put a retracted memory back into use")
async def restore(memory_id: MemoryId, response: Response, backend: BackendOf, caller: CallerOf) -> Memory:
    """Refused with `409` when it is not retracted."""
    return _tagged(await backend.restore(caller, memory_id), response)


def _tagged(memory: Memory, response: Response) -> Memory:
    response.headers["ETag"] = etag(memory.version)
    return memory
