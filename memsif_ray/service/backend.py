"""What a server asks of whoever keeps the memories."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal, Protocol, runtime_checkable

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

LOCAL_TENANT = "local"
"""Of everybody where no keys are asked for: in the development mode of a server, and in one process."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Who asks, as the credential says; a request cannot name another tenant.

    Attributes:
        tenant: Every read and write is confined to it.
        key_id: Which of its keys; "" in development mode.
        request_id: In every log line and audit entry of this request. Digestion outlives requests: its log
            lines name the operation, and the audit log says which request that came with.
    """

    tenant: str
    key_id: str = ""
    request_id: str = ""


@dataclass(frozen=True, slots=True)
class Paging:
    """Which part of a list: at most `limit` items after `cursor`, an opaque text of an earlier page."""

    limit: int = 100
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """How busy a backend is.

    Attributes:
        live_conversations: Conversations held in memory.
        queued: Writes that are stored but not digested yet.
        usage: All model work since the start.
        shards: Processes that keep conversations.
        shards_up: Those of them that answered; the rest is not in the other numbers.
    """

    live_conversations: int
    queued: int
    usage: Usage = Usage()
    shards: int = 1
    shards_up: int = 1


@runtime_checkable
class ReportsLoad(Protocol):
    """A backend that can say how busy it is; `/metrics` shows it."""

    async def load(self) -> Load:
        """As it is now. What does not answer at once is left out, and is no error."""
        ...


@runtime_checkable
class Backend(Protocol):
    """Keeps the memories of all tenants.

    Every method confines itself to the caller's tenant: what belongs to another does not exist. All of them
    raise NotFound for an unknown conversation or id, ServiceBusy when a model, the store or the queue of a
    conversation is not available (with `retry_after_s` where that is known), and RequestRefused when a model
    will never take the request.
    """

    async def ingest(
        self, caller: Caller, request: IngestRequest, *, idempotency_key: str | None = None
    ) -> Operation:
        """Store messages, then digest them. When this returns they are stored for good.

        Raises:
            Conflict: When the idempotency key was used for another request, or a message id for another text.
        """
        ...

    async def search(self, caller: Caller, request: SearchRequest) -> SearchResult:
        """What memory would show; changes nothing. An unknown conversation has no results."""
        ...

    async def answer(self, caller: Caller, request: AnswerRequest) -> AnswerResult:
        """Answer from memory; with `learn` the question is remembered as demand."""
        ...

    async def conversations(self, caller: Caller, paging: Paging) -> Page[ConversationOut]:
        """The tenant's conversations, by id."""
        ...

    async def messages(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[SourceMessage]:
        """Messages in order."""
        ...

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
        """Facts by id, as believed at `as_of` and as true at `valid_at`."""
        ...

    async def memory(self, caller: Caller, memory_id: str) -> Memory:
        """One fact in its latest version."""
        ...

    async def change(
        self, caller: Caller, memory_id: str, change: MemoryChange, *, if_version: int | None = None
    ) -> Memory:
        """Write an Update.

        Raises:
            Conflict: When `if_version` is not the current version.
        """
        ...

    async def supersede(self, caller: Caller, memory_id: str, successor: Successor) -> Memory:
        """Replace by something that is true now; returns the new memory."""
        ...

    async def retract(self, caller: Caller, memory_id: str) -> Memory:
        """Take out of use; history and `restore` remain."""
        ...

    async def restore(self, caller: Caller, memory_id: str) -> Memory:
        """Put a retracted memory back into use.

        Raises:
            Conflict: When it is not retracted.
        """
        ...

    async def erase_memory(self, caller: Caller, memory_id: str, *, dry_run: bool = False) -> Erased:
        """Remove every version of a memory, its vectors and what ledgers hold of it. The messages remain."""
        ...

    async def erase_conversation(
        self, caller: Caller, conversation_id: str, *, dry_run: bool = False
    ) -> Erased:
        """Remove everything about a conversation."""
        ...

    async def history(self, caller: Caller, memory_id: str) -> tuple[HistoryEntry, ...]:
        """All operations on a memory, oldest first."""
        ...

    async def provenance(self, caller: Caller, memory_id: str) -> Provenance:
        """Down to the messages."""
        ...

    async def segments(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[SegmentOut]:
        """Topical Segments in order."""
        ...

    async def trajectories(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[TrajectoryOut]:
        """Event Trajectories by id."""
        ...

    async def candidates(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[Candidate]:
        """Candidate clusters by id, promoted ones included."""
        ...

    async def operation(self, caller: Caller, operation_id: str) -> Operation:
        """What became of a write."""
        ...

    async def cancel(self, caller: Caller, operation_id: str) -> Operation:
        """Cancel a write that is not being digested yet; its messages are taken back.

        Raises:
            Conflict: When it has begun.
        """
        ...

    async def retry(self, caller: Caller, operation_id: str) -> Operation:
        """Digest a failed write again.

        Raises:
            Conflict: When it has not failed.
        """
        ...

    async def export(self, caller: Caller, conversation_id: str) -> Bundle:
        """Everything about a conversation."""
        ...

    async def import_(self, caller: Caller, bundle: Bundle) -> Operation:
        """Take over a conversation; ids stay the same.

        Raises:
            Conflict: When a conversation of this id or key exists.
            EmbedderMismatch: When its facts were compared by another embedder and cannot be taken over.
        """
        ...

    async def usage(self, caller: Caller, *, since: datetime | None = None) -> TenantUsage:
        """What the tenant has used."""
        ...

    async def audit(self, caller: Caller, paging: Paging) -> Page[AuditEntry]:
        """Who did what, newest first."""
        ...

    async def check(self) -> None:
        """Touch the store and every model.

        Raises:
            ServiceError: Naming the part that does not answer.
        """
        ...

    async def close(self) -> None:
        """Finish what is being digested, and let go of everything. Nothing is lost if this is not called."""
        ...
