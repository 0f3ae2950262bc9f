"""Statements that take over a conversation from elsewhere."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection

from memsif_ray.service.models import Operation
from memsif_ray.service.store import ConversationRow, StateRow, StoredMessage
from memsif_ray.storage.sql.statements import conversations, messages, operations, state


def adopt(
    connection: Connection,
    row: ConversationRow,
    given: Sequence[StoredMessage],
    derived: Sequence[StateRow],
    operation: Operation,
) -> None:
    """See [`MemoryStore.adopt`][memsif_ray.service.store.MemoryStore.adopt]."""
    number = conversations.add(connection, row)
    operations.add(connection, number, operation)
    messages.add(connection, number, given)
    state.put_rows(connection, number, derived)
