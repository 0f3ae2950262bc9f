"""Statements about messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from memsif_ray.service.models import AuditEntry, Operation, OperationStatus
from memsif_ray.service.store import Accepted, StoredMessage
from memsif_ray.storage.sql.rows import message_of, message_values
from memsif_ray.storage.sql.statements import account, conversations, operations
from memsif_ray.storage.sql.tables import CONVERSATIONS, MESSAGES


def accept(
    connection: Connection,
    key: str,
    messages: Sequence[StoredMessage],
    operation: Operation,
    *,
    idempotency: tuple[str, str] | None,
    audit: AuditEntry | None,
    now: datetime,
) -> Accepted:
    """See [`MemoryStore.accept`][memsif_ray.service.store.MemoryStore.accept]."""
    row = conversations.locked(connection, key)
    earlier = None if idempotency is None else operations.earlier(connection, row.id, *idempotency)
    if audit is not None:
        found = earlier or operation
        account.add_audit(connection, row.tenant, audit.model_copy(update={"target": found.id}))
    if earlier is not None:
        return Accepted(earlier, repeated=True)
    if idempotency is not None:
        operations.remember(connection, row.id, *idempotency, operation.id)
    operations.add(connection, row.id, operation)
    add(connection, row.id, messages)
    conversations.count_messages(connection, row.id, len(messages), now)
    return Accepted(operation, repeated=False)


def add(connection: Connection, number: int, messages: Sequence[StoredMessage]) -> None:
    """Store them, all or none."""
    if messages:
        connection.execute(insert(MESSAGES), [message_values(number, m) for m in messages])


def page(connection: Connection, key: str, after: int, limit: int | None) -> list[StoredMessage]:
    """In order of position."""
    position = MESSAGES.c.position
    query = (
        select(MESSAGES)
        .join(CONVERSATIONS)
        .where(CONVERSATIONS.c.key == key, position > after)
        .order_by(position)
        .limit(limit)
    )
    return [message_of(row) for row in connection.execute(query)]


def withdraw(connection: Connection, operation: Operation, now: datetime) -> None:
    """See [`MemoryStore.withdraw`][memsif_ray.service.store.MemoryStore.withdraw]."""
    number = operations.locked(connection, operation.id, status=OperationStatus.PENDING)
    mine = (MESSAGES.c.conversation == number) & (MESSAGES.c.operation_id == operation.id)
    gone = connection.execute(delete(MESSAGES).where(mine))
    conversations.count_messages(connection, number, -gone.rowcount, now)
    cancelled = operation.model_copy(update={"status": OperationStatus.CANCELLED})
    operations.replace(connection, cancelled)
