"""Conversations, and what memory has built over them."""

from __future__ import annotations

from memsif_ray.api.dependencies import (
    BackendOf,
    CallerOf,
    ConversationInPath,
    ConversationInQuery,
    DryRun,
    PagingOf,
    router,
)
from memsif_ray.service.models import (
    Candidate,
    ConversationOut,
    Erased,
    Page,
    SegmentOut,
    SourceMessage,
    TrajectoryOut,
)

ROUTER = router("Conversations")
STRUCTURES = router("Structures")


@ROUTER.get("/v1/conversations", summary="List conversations")
async def list_conversations(backend: BackendOf, caller: CallerOf, paging: PagingOf) -> Page[ConversationOut]:
    """Those of this key's tenant, by id."""
    return await backend.conversations(caller, paging)


@ROUTER.get("/v1/conversations/{conversation_id}/messages", summary="Messages of a conversation")
async def messages(
    conversation_id: ConversationInPath, backend: BackendOf, caller: CallerOf, paging: PagingOf
) -> Page[SourceMessage]:
    """In order, as they were given."""
    return await backend.messages(caller, conversation_id, paging)


@ROUTER.delete("/v1/conversations/{conversation_id}", summary="Erase a conversation")
async def erase_conversation(
    conversation_id: ConversationInPath, backend: BackendOf, caller: CallerOf, dry_run: DryRun = False
) -> Erased:
    """Messages, memories, vectors and all, at once and for good. There is no way to erase all conversations.

    A service over SQLite leaves no byte of them in its files. Over PostgreSQL nobody can ask for them any
    more, but bytes may stay on its disk, in its log and in backups until their place is used again.
    """
    return await backend.erase_conversation(caller, conversation_id, dry_run=dry_run)


@STRUCTURES.get("/v1/segments", summary="Topical Segments")
async def segments(
    conversation_id: ConversationInQuery, backend: BackendOf, caller: CallerOf, paging: PagingOf
) -> Page[SegmentOut]:
    """Topic-coherent runs of messages, in order."""
    return await backend.segments(caller, conversation_id, paging)


@STRUCTURES.get("/v1/trajectories", summary="Event Trajectories")
async def trajectories(
    conversation_id: ConversationInQuery, backend: BackendOf, caller: CallerOf, paging: PagingOf
) -> Page[TrajectoryOut]:
    """Segments about the same event, across sessions."""
    return await backend.trajectories(caller, conversation_id, paging)


@STRUCTURES.get("/v1/candidates", summary="Candidate clusters")
async def candidates(
    conversation_id: ConversationInQuery, backend: BackendOf, caller: CallerOf, paging: PagingOf
) -> Page[Candidate]:
    """What questions ask for again and again: two scores, and the thresholds of promotion to ActiveFacts."""
    return await backend.candidates(caller, conversation_id, paging)
