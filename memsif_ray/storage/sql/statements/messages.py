"""Statements about messages."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from sqlalchemy import Connection, delete, insert, select

from memsif_ray.service.models import Operation, OperationStatus
from memsif_ray.service.store import Accepted, StoredMessage
from memsif_ray.storage.sql.rows import message_of, message_values
from memsif_ray.storage.sql.statements import conversations, operations
from memsif_ray.storage.sql.tables import CONVERSATIONS, MESSAGES


def accept(
    connection: Connection,
    key: str,
    messages: Sequence[StoredMessage],
    operation: Operation,
    *,
    idempotency: tuple[str, str] | None,
    now: datetime,
) -> Accepted:
    """See [`MemoryStore.accept`][memsif_ray.service.store.MemoryStore.accept]."""
    number = conversations.locked(connection, key)
    if idempotency is not None:
        earlier = operations.earlier(connection, number, *idempotency)
        if earlier is not None:
            return Accepted(earlier, repeated=True)
        operations.remember(connection, number, *idempotency, operation.id)
    operations.add(connection, number, operation)
    add(connection, number, messages)
    conversations.count_messages(connection, number, len(messages), now)
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
