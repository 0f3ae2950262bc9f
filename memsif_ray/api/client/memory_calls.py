"""One function per method of the clients: from arguments to a request. Nothing is sent here.

Every function checks its arguments first, and raises ValidationError for those that the service would
refuse. What the returned request can fail with when it is sent is in `errors`.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Literal

from memsif_ray.api.client.arguments import checked, json_body, once, query, scope, segment
from memsif_ray.api.client.flows import Call
from memsif_ray.api.client.listing import Listing
from memsif_ray.service.arguments import UNSET, Messages, Unset, given, listed
from memsif_ray.service.models import (
    AnswerRequest,
    AnswerResult,
    Erased,
    HistoryEntry,
    IngestRequest,
    Memory,
    MemoryChange,
    Operation,
    Page,
    Policy,
    Provenance,
    SearchRequest,
    SearchResult,
    Successor,
)


def add(
    messages: Messages,
    *,
    conversation_id: str,
    wait: bool = False,
    dry_run: bool = False,
    idempotency_key: str | None = None,
) -> Call[Operation]:
    """Remember messages, in order.

    Args:
        messages: A text, a mapping with `content`, a `MessageIn`, or several of them.
        conversation_id: Whose memory.
        wait: Return when they are digested, instead of when they are stored.
        dry_run: Store nothing; say what would be accepted and, with `wait`, which facts would be written.
        idempotency_key: By default a new one for every call, the same for all its tries, so that a retried
            add applies once. Give your own to repeat a call across processes.
    """
    request = checked(
        IngestRequest,
        conversation_id=conversation_id,
        messages=listed(messages),
        wait=wait,
        dry_run=dry_run,
    )
    return Call(
        "POST",
        "/v1/memories",
        Operation,
        body=json_body(request),
        headers=once(idempotency_key),
        repeatable=True,
    )


def search(
    query: str,
    *,
    conversation_id: str,
    top_k: int | None = None,
    max_tokens: int | None = None,
    types: Collection[str] = (),
    as_of: datetime | None = None,
    valid_at: datetime | None = None,
    filters: Mapping[str, Any] | None = None,
    consolidation: Policy | None = None,
    include: Collection[Literal["provenance", "trace"]] = (),
) -> Call[SearchResult]:
    """What memory has to say, best first; changes nothing.

    Args:
        query: In plain words.
        conversation_id: Whose memory.
        top_k: At most so many results; not together with `max_tokens`.
        max_tokens: At most so many tokens of results.
        types: Kinds of evidence or CoreFact types; empty = all.
        as_of: As memory was then.
        valid_at: What held then.
        filters: Only what rests on messages with these values in their metadata.
        consolidation: What to do with notes that exceed `max_tokens`.
        include: More of each result: `provenance`, `trace`.
    """
    request = checked(
        SearchRequest,
        conversation_id=conversation_id,
        query=query,
        top_k=top_k,
        max_tokens=max_tokens,
        types=tuple(types),
        as_of=as_of,
        valid_at=valid_at,
        filters=dict(filters or {}),
        consolidation=consolidation,
        include=frozenset(include),
    )
    return Call("POST", "/v1/search", SearchResult, body=json_body(request), repeatable=True)


def answer(
    question: str,
    *,
    conversation_id: str,
    learn: bool = True,
    asked_at: datetime | None = None,
    max_tokens: int | None = None,
    consolidation: Policy | None = None,
) -> Call[AnswerResult]:
    """Answer from memory.

    Args:
        question: In plain words.
        conversation_id: Whose memory.
        learn: Let the question's evidence grow into ActiveFacts. Such a question counts each time it is
            asked, so it is sent again only when the service certainly did not take it.
        asked_at: For relative dates; by default now.
        max_tokens: Budget of the evidence shown to the model.
        consolidation: What to do with notes that exceed `max_tokens`.
    """
    request = checked(
        AnswerRequest,
        conversation_id=conversation_id,
        question=question,
        learn=learn,
        asked_at=asked_at,
        max_tokens=max_tokens,
        consolidation=consolidation,
    )
    return Call("POST", "/v1/answer", AnswerResult, body=json_body(request), repeatable=not learn)


def get(memory_id: str) -> Call[Memory]:
    """One memory in its latest version."""
    return Call("GET", _memory(memory_id), Memory, repeatable=True)


def list_(
    conversation_id: str,
    *,
    track: Literal["core", "active"] | None = None,
    type: str | None = None,
    status: Literal["active", "all"] | None = None,
    as_of: datetime | None = None,
    valid_at: datetime | None = None,
    page_size: int = 100,
) -> Listing[Memory]:
    """All memories of a conversation, fetched page by page while they are read.

    Args:
        conversation_id: Whose memory.
        track: `core` or `active`; None = both.
        type: CoreFact type.
        status: `all` also gives what was retracted or replaced.
        as_of: As believed then.
        valid_at: As true then.
        page_size: How many to fetch at once.
    """
    asked = query(
        conversation_id=scope(conversation_id),
        track=track,
        type=type,
        status=status,
        as_of=as_of,
        valid_at=valid_at,
    )
    return Listing.of("/v1/memories", Page[Memory], asked, page_size)


def update(
    memory_id: str,
    text: str | Unset = UNSET,
    *,
    valid_from: datetime | None | Unset = UNSET,
    valid_to: datetime | None | Unset = UNSET,
    if_version: int | None = None,
) -> Call[Memory]:
    """Correct a memory; the earlier version stays in its history.

    Args:
        memory_id: Which.
        text: The new text.
        valid_from: Since when it holds; None takes the date away.
        valid_to: Until when it held; None takes the date away.
        if_version: Fail with ConflictError when somebody else has changed it since this version.
    """
    change = checked(MemoryChange, **given(text=text, valid_from=valid_from, valid_to=valid_to))
    headers = {} if if_version is None else {"If-Match": f'"{if_version}"'}
    body = json_body(change, given_only=True)
    return Call("PATCH", _memory(memory_id), Memory, body=body, headers=headers)


def supersede(memory_id: str, text: str, *, valid_from: datetime | None = None) -> Call[Memory]:
    """Replace a memory that is no longer true; returns the new one."""
    successor = checked(Successor, text=text, valid_from=valid_from)
    return Call("POST", f"{_memory(memory_id)}/supersede", Memory, body=json_body(successor))


def delete(memory_id: str) -> Call[Memory]:
    """Take a memory out of use; its history remains, and `restore` brings it back. See also `erase`."""
    return Call("DELETE", _memory(memory_id), Memory, repeatable=True)


def erase(memory_id: str, *, dry_run: bool = False) -> Call[Erased]:
    """Remove every version of a memory for good; the messages it came from remain.

    Args:
        memory_id: Which.
        dry_run: Say what would be removed, and remove nothing.
    """
    asked = query(hard=True, dry_run=dry_run or None)
    return Call("DELETE", _memory(memory_id), Erased, query=asked, repeatable=True)


def restore(memory_id: str) -> Call[Memory]:
    """Put a deleted memory back into use."""
    return Call("POST", f"{_memory(memory_id)}/restore", Memory)


def history(memory_id: str) -> Listing[HistoryEntry]:
    """All operations on a memory, oldest first."""
    return Listing.of(f"{_memory(memory_id)}/history", Page[HistoryEntry])


def provenance(memory_id: str) -> Call[Provenance]:
    """Why a memory is there, down to the messages."""
    return Call("GET", f"{_memory(memory_id)}/provenance", Provenance, repeatable=True)


def _memory(memory_id: str) -> str:
    return f"/v1/memories/{segment(memory_id, 'memory_id')}"
