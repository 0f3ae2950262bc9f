"""What the service asks of a database. `storage.sql` answers with SQLite or PostgreSQL.

Messages are the truth; everything else about a conversation is its *state*, rows that were derived from
them and from questions. Messages are stored before they are acknowledged, state when they are digested. So
after a crash the state is loaded, and messages that it does not cover yet are digested again.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from memsif_ray.service.models import AuditEntry, Operation, TenantUsage, Usage


@dataclass(frozen=True, slots=True)
class ConversationRow:
    """One conversation.

    Attributes:
        key: Short, unique in the whole store and never reused; the middle of the ids of all it contains.
        revision: Grows with every save; a writer that does not know the latest one is refused.
        messages: Number of stored messages.
    """

    tenant: str
    conversation_id: str
    key: str
    revision: int
    messages: int
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, slots=True)
class StoredMessage:
    """A message as it was accepted. `message_id` and `position` are unique in the conversation."""

    message_id: str
    position: int
    session: int
    session_name: str | None
    role: str
    name: str
    content: str
    timestamp: datetime
    received_at: datetime
    operation_id: str
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StateRow:
    """One row of a conversation's state.

    Attributes:
        table: E.g. `segments`, `fact_operations`, `vectors`.
        key: Unique in its table.
        content: Plain data, stored as JSON.
        vector: Little-endian 32-bit floats.
    """

    table: str
    key: str
    content: Mapping[str, Any]
    vector: bytes | None = None


@dataclass(frozen=True, slots=True)
class Accepted:
    """What `accept` found.

    Attributes:
        operation: The new operation; or the earlier one of the same idempotency key.
        repeated: True for an earlier one: nothing was stored this time.
    """

    operation: Operation
    repeated: bool


class MemoryStore(Protocol):
    """A database. Every method is one transaction, and what it returns is on disk when it returns.

    All methods raise ServiceBusy when the database does not answer or is locked for too long.
    """

    async def conversation(self, tenant: str, conversation_id: str) -> ConversationRow | None:
        """By its name."""
        ...

    async def conversation_of_key(self, tenant: str, key: str) -> ConversationRow | None:
        """By the key in its ids."""
        ...

    async def conversations(self, tenant: str, *, after: str, limit: int) -> list[ConversationRow]:
        """In order of id, those after `after` ("" = from the start)."""
        ...

    async def create(self, tenant: str, conversation_id: str) -> ConversationRow:
        """The conversation, made if it is not there; safe to call at the same time from two places."""
        ...

    async def accept(
        self,
        key: str,
        messages: Sequence[StoredMessage],
        operation: Operation,
        *,
        idempotency: tuple[str, str] | None = None,
        audit: AuditEntry | None = None,
    ) -> Accepted:
        """Store messages and the operation that brought them.

        Args:
            key: Of the conversation.
            messages: New ones only.
            operation: As it is now, usually `pending`.
            idempotency: The caller's key and a digest of the request.
            audit: Appended to the audit log in the same transaction, with the operation that it became, or
                had become before, as target.

        Raises:
            Conflict: When an id or position is taken (another writer was faster: load again), or the
                idempotency key was used with another digest.
        """
        ...

    async def messages(self, key: str, *, after: int = -1, limit: int | None = None) -> list[StoredMessage]:
        """In order of position, those after `after`."""
        ...

    async def state(self, key: str) -> list[StateRow]:
        """All rows, in the order in which each was first put."""
        ...

    async def save(
        self,
        key: str,
        *,
        revision: int,
        put: Sequence[StateRow] = (),
        delete: Collection[tuple[str, str]] = (),
        operations: Sequence[Operation] = (),
    ) -> int:
        """Change the state: put rows, replacing those of the same table and key, and delete others.

        Args:
            key: Of the conversation.
            revision: The one the writer knows.
            put: New or changed rows.
            delete: (table, key) of rows to erase; they go before `put`. Together with `purge` nothing of
                them remains.
            operations: New versions of operations, written with it or not at all.

        Returns:
            The new revision.

        Raises:
            Conflict: When the conversation has another revision, or is gone.
        """
        ...

    async def operation(self, tenant: str, operation_id: str) -> Operation | None:
        """What became of a write."""
        ...

    async def put_operation(self, operation: Operation) -> None:
        """Write a new version of an operation.

        Raises:
            Conflict: When it is not there.
        """
        ...

    async def unfinished(self, key: str | None = None) -> list[Operation]:
        """Operations that are `pending` or `running`, oldest first; of one conversation, or of all."""
        ...

    async def failed(self, key: str) -> list[Operation]:
        """Operations of a conversation that are `failed`, oldest first."""
        ...

    async def interrupted(self) -> list[ConversationRow]:
        """Conversations of all tenants with unfinished operations: what to take up after a restart."""
        ...

    async def withdraw(self, operation: Operation) -> None:
        """Take back the messages of an operation that was not digested, and write it as `cancelled`.

        Raises:
            Conflict: When it is not `pending`.
        """
        ...

    async def erase(self, key: str) -> None:
        """Remove everything about a conversation, and `purge`. One that is not there is no error."""
        ...

    async def purge(self) -> None:
        """Leave as little of what was deleted or replaced so far in the database's files as it can.

        SQLite rewrites its file for this and no byte remains, so it belongs to erasure, not to every save.
        PostgreSQL frees the place; `storage.sql.postgresql` says what that does not promise.
        """
        ...

    async def adopt(
        self,
        row: ConversationRow,
        messages: Sequence[StoredMessage],
        state: Sequence[StateRow],
        operation: Operation,
    ) -> None:
        """Store an imported conversation under its own key.

        Raises:
            Conflict: When its id or key is taken.
        """
        ...

    async def add_usage(self, tenant: str, at: datetime, usage: Usage, *, requests: int = 1) -> None:
        """Add to the tenant's account."""
        ...

    async def usage(self, tenant: str, *, since: datetime | None = None) -> TenantUsage:
        """The tenant's account."""
        ...

    async def add_audit(self, tenant: str, entry: AuditEntry) -> None:
        """Append to the tenant's audit log."""
        ...

    async def audit(self, tenant: str, *, before: int | None, limit: int) -> list[tuple[int, AuditEntry]]:
        """Newest first, with the number of each; those before number `before`."""
        ...

    async def ping(self) -> None:
        """Read and write something."""
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...
