"""Statements about the state of conversations."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from sqlalchemy import Connection, bindparam, select

from memsif_ray.service.models import Operation
from memsif_ray.service.store import StateRow
from memsif_ray.storage.sql.database import insert_into
from memsif_ray.storage.sql.rows import state_of, state_values
from memsif_ray.storage.sql.statements import conversations
from memsif_ray.storage.sql.statements.operations import put as put_operations
from memsif_ray.storage.sql.tables import CONVERSATIONS, STATE


def load(connection: Connection, key: str) -> list[StateRow]:
    """All rows, in the order in which each was first put."""
    query = select(STATE).join(CONVERSATIONS).where(CONVERSATIONS.c.key == key).order_by(STATE.c.id)
    return [state_of(row) for row in connection.execute(query)]


def save(
    connection: Connection,
    key: str,
    *,
    revision: int,
    put: Sequence[StateRow],
    delete: Collection[tuple[str, str]],
    operations: Sequence[Operation],
    now: datetime,
) -> None:
    """See [`MemoryStore.save`][memsif_ray.service.store.MemoryStore.save]."""
    number = conversations.next_revision(connection, key, revision, now)
    _remove_rows(connection, number, delete)
    put_rows(connection, number, put)
    put_operations(connection, number, operations)


def put_rows(connection: Connection, number: int, rows: Sequence[StateRow]) -> None:
    """New rows, and new versions of rows, which keep their place in the order."""
    if not rows:
        return
    query = insert_into(connection, STATE)
    query = query.on_conflict_do_update(
        index_elements=["conversation", "table", "key"],
        set_={"content": query.excluded.content, "vector": query.excluded.vector},
    )
    connection.execute(query, [state_values(number, row) for row in rows])


def _remove_rows(connection: Connection, number: int, rows: Collection[tuple[str, str]]) -> None:
    """Rows by (table, key); one that is not there is no error."""
    if not rows:
        return
    query = STATE.delete().where(
        STATE.c.conversation == number,
        STATE.c.table == bindparam("of_table"),
        STATE.c.key == bindparam("of_key"),
    )
    connection.execute(query, [{"of_table": table, "of_key": key} for table, key in rows])
