"""A MemoryStore over SQL: which statements make one transaction."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from memsif_ray.service.models import AuditEntry, Operation, TenantUsage, Usage
from memsif_ray.service.store import Accepted, ConversationRow, StateRow, StoredMessage
from memsif_ray.storage.sql.database import Database
from memsif_ray.storage.sql.keys import Clock, SqlKeyStore
from memsif_ray.storage.sql.statements import account
from memsif_ray.storage.sql.statements import conversations as on_conversations
from memsif_ray.storage.sql.statements import messages as on_messages
from memsif_ray.storage.sql.statements import operations as on_operations
from memsif_ray.storage.sql.statements import state as on_state
from memsif_ray.storage.sql.statements.adoption import adopt


class SqlStore:
    """A [`MemoryStore`][memsif_ray.service.store.MemoryStore] in SQLite or PostgreSQL.

    Attributes:
        api_keys: Tenants and keys, in the same database.
    """

    def __init__(self, database: Database, *, clock: Clock) -> None:
        """The database's schema is that of `tables`."""
        self._database = database
        self._clock = clock
        self.api_keys = SqlKeyStore(database, clock=clock)

    async def conversation(self, tenant: str, conversation_id: str) -> ConversationRow | None:
        """By its name."""
        return await self._database.read(on_conversations.by_name, tenant, conversation_id)

    async def conversation_of_key(self, tenant: str, key: str) -> ConversationRow | None:
        """By the key in its ids."""
        return await self._database.read(on_conversations.by_key, tenant, key)

    async def conversations(self, tenant: str, *, after: str, limit: int) -> list[ConversationRow]:
        """In order of id, those after `after`."""
        return await self._database.read(on_conversations.page, tenant, after, limit)

    async def create(self, tenant: str, conversation_id: str) -> ConversationRow:
        """The conversation, made if it is not there."""
        row = await self.conversation(tenant, conversation_id)
        if row is not None:
            return row
        return await self._database.write(
            on_conversations.find_or_make, tenant, conversation_id, self._clock()
        )

    async def accept(
        self,
        key: str,
        messages: Sequence[StoredMessage],
        operation: Operation,
        *,
        idempotency: tuple[str, str] | None = None,
        audit: AuditEntry | None = None,
    ) -> Accepted:
        """Store messages and the operation that brought them."""
        return await self._database.write(
            on_messages.accept,
            key,
            messages,
            operation,
            idempotency=idempotency,
            audit=audit,
            now=self._clock(),
        )

    async def messages(self, key: str, *, after: int = -1, limit: int | None = None) -> list[StoredMessage]:
        """In order of position."""
        return await self._database.read(on_messages.page, key, after, limit)

    async def state(self, key: str) -> list[StateRow]:
        """All rows, in the order in which each was first put."""
        return await self._database.read(on_state.load, key)

    async def save(
        self,
        key: str,
        *,
        revision: int,
        put: Sequence[StateRow] = (),
        delete: Collection[tuple[str, str]] = (),
        operations: Sequence[Operation] = (),
    ) -> int:
        """Change the state, if `revision` is the present one. Only what is deleted must leave the log too."""
        change = self._database.overwrite if delete else self._database.write
        await change(
            on_state.save,
            key,
            revision=revision,
            put=put,
            delete=delete,
            operations=operations,
            now=self._clock(),
        )
        return revision + 1

    async def operation(self, tenant: str, operation_id: str) -> Operation | None:
        """What became of a write."""
        return await self._database.read(on_operations.find, tenant, operation_id)

    async def put_operation(self, operation: Operation) -> None:
        """Write a new version of an operation."""
        await self._database.write(on_operations.replace, operation)

    async def unfinished(self, key: str | None = None) -> list[Operation]:
        """Operations that are `pending` or `running`, oldest first."""
        return await self._database.read(on_operations.unfinished, key)

    async def failed(self, key: str) -> list[Operation]:
        """Operations of a conversation that are `failed`, oldest first."""
        return await self._database.read(on_operations.failed, key)

    async def interrupted(self) -> list[ConversationRow]:
        """Conversations with unfinished operations."""
        return await self._database.read(on_conversations.interrupted)

    async def withdraw(self, operation: Operation) -> None:
        """Take back the messages of an operation that was not digested."""
        await self._database.overwrite(on_messages.withdraw, operation, self._clock())

    async def erase(self, key: str) -> None:
        """Remove everything about a conversation, and `purge`."""
        await self._database.write(on_conversations.remove, key)
        await self._database.purge()

    async def purge(self) -> None:
        """Leave as little of what was deleted or replaced so far as the database can."""
        await self._database.purge()

    async def adopt(
        self,
        row: ConversationRow,
        messages: Sequence[StoredMessage],
        state: Sequence[StateRow],
        operation: Operation,
    ) -> None:
        """Store an imported conversation under its own key."""
        await self._database.write(adopt, row, messages, state, operation)

    async def add_usage(self, tenant: str, at: datetime, usage: Usage, *, requests: int = 1) -> None:
        """Add to the tenant's account."""
        await self._database.write(account.add_usage, tenant, at, usage, requests)

    async def usage(self, tenant: str, *, since: datetime | None = None) -> TenantUsage:
        """The tenant's account, from the beginning of the hour of `since`."""
        return await self._database.read(account.usage, tenant, since)

    async def add_audit(self, tenant: str, entry: AuditEntry) -> None:
        """Append to the tenant's audit log."""
        await self._database.write(account.add_audit, tenant, entry)

    async def audit(self, tenant: str, *, before: int | None, limit: int) -> list[tuple[int, AuditEntry]]:
        """Newest first, with the number of each."""
        return await self._database.read(account.audit, tenant, before, limit)

    async def ping(self) -> None:
        """Read and write something."""
        await self._database.write(account.beat, self._clock())

    async def close(self) -> None:
        """Let go of connections."""
        await self._database.close()
