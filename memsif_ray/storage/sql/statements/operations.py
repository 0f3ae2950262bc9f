"""Statements about operations and the idempotency keys that lead to them."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import ColumnElement, Connection, insert, select, update

from memsif_ray.errors import Conflict
from memsif_ray.service.models import Operation, OperationStatus
from memsif_ray.storage.sql.database import insert_into
from memsif_ray.storage.sql.rows import operation_of, operation_values
from memsif_ray.storage.sql.statements.conversations import UNFINISHED
from memsif_ray.storage.sql.tables import CONVERSATIONS, IDEMPOTENCY, OPERATIONS


def add(connection: Connection, number: int, operation: Operation) -> None:
    """A new one of conversation `number`."""
    values = {"conversation": number} | operation_values(operation)
    connection.execute(insert(OPERATIONS), values)


def replace(connection: Connection, operation: Operation) -> None:
    """Write a new version.

    Raises:
        Conflict: When there is no earlier one.
    """
    query = update(OPERATIONS).where(OPERATIONS.c.id == operation.id)
    if connection.execute(query.values(operation_values(operation))).rowcount != 1:
        raise Conflict("the operation is gone")


def put(connection: Connection, number: int, operations: Sequence[Operation]) -> None:
    """Write new ones, and new versions of those of the same conversation.

    Raises:
        Conflict: When an id is that of another conversation.
    """
    for operation in operations:
        values = operation_values(operation)
        query = insert_into(connection, OPERATIONS).values({"conversation": number} | values)
        query = query.on_conflict_do_update(
            index_elements=["id"], set_=values, where=OPERATIONS.c.conversation == number
        )
        if connection.execute(query).rowcount != 1:
            raise Conflict("the operation is another conversation's")


def find(connection: Connection, tenant: str, operation_id: str) -> Operation | None:
    """None when there is none, or it is another tenant's."""
    mine = (OPERATIONS.c.id == operation_id) & (CONVERSATIONS.c.tenant == tenant)
    found = _all(connection, mine)
    return found[0] if found else None


def unfinished(connection: Connection, key: str | None) -> list[Operation]:
    """Oldest first; of one conversation, or of all."""
    wanted = OPERATIONS.c.status.in_(UNFINISHED)
    return _all(connection, wanted if key is None else wanted & (CONVERSATIONS.c.key == key))


def failed(connection: Connection, key: str) -> list[Operation]:
    """Oldest first."""
    return _all(connection, (OPERATIONS.c.status == OperationStatus.FAILED) & (CONVERSATIONS.c.key == key))


def locked(connection: Connection, operation_id: str, *, status: OperationStatus) -> int:
    """The number of an operation's conversation, when it has this status and until the transaction ends.

    Raises:
        Conflict: When it has another, or is gone.
    """
    query = select(OPERATIONS.c.conversation, OPERATIONS.c.status).where(OPERATIONS.c.id == operation_id)
    row = connection.execute(query.with_for_update()).one_or_none()
    if row is None:
        raise Conflict("the operation is gone")
    if row.status != status:
        raise Conflict(f"the operation is {row.status}, not {status}")
    return int(row.conversation)


def earlier(connection: Connection, number: int, key: str, digest: str) -> Operation | None:
    """The operation of a request with this idempotency key, as it is now.

    Raises:
        Conflict: When that was another request.
    """
    mine = (IDEMPOTENCY.c.conversation == number) & (IDEMPOTENCY.c.key == key)
    row = connection.execute(select(IDEMPOTENCY).where(mine)).one_or_none()
    if row is None:
        return None
    if row.digest != digest:
        raise Conflict("the idempotency key was used for another request")
    found = _all(connection, OPERATIONS.c.id == row.operation_id)
    return found[0]


def remember(connection: Connection, number: int, key: str, digest: str, operation_id: str) -> None:
    """Which operation an idempotency key led to."""
    values = {"conversation": number, "key": key, "digest": digest, "operation_id": operation_id}
    connection.execute(insert(IDEMPOTENCY), values)


def _all(connection: Connection, wanted: ColumnElement[bool]) -> list[Operation]:
    query = select(OPERATIONS, CONVERSATIONS.c.conversation_id).join(CONVERSATIONS).where(wanted)
    return [operation_of(row) for row in connection.execute(query.order_by(OPERATIONS.c.number))]
