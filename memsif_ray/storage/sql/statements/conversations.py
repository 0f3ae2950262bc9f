"""Statements about conversations as wholes."""

from __future__ import annotations

import secrets
from dataclasses import asdict
from datetime import datetime
from typing import NamedTuple

from sqlalchemy import Connection, delete, insert, select, update

from memsif_ray.errors import Conflict
from memsif_ray.service.store import ConversationRow
from memsif_ray.storage.sql.database import insert_into
from memsif_ray.storage.sql.rows import conversation_of
from memsif_ray.storage.sql.tables import CONVERSATIONS, OPERATIONS

UNFINISHED = ("pending", "running")
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # no letters that look like another
_KEY_LENGTH = 12


def by_name(connection: Connection, tenant: str, conversation_id: str) -> ConversationRow | None:
    """None when there is none."""
    table = CONVERSATIONS.c
    query = select(CONVERSATIONS).where(table.tenant == tenant, table.conversation_id == conversation_id)
    row = connection.execute(query).one_or_none()
    return None if row is None else conversation_of(row)


def by_key(connection: Connection, tenant: str, key: str) -> ConversationRow | None:
    """None when there is none, or it is another tenant's."""
    query = select(CONVERSATIONS).where(CONVERSATIONS.c.key == key, CONVERSATIONS.c.tenant == tenant)
    row = connection.execute(query).one_or_none()
    return None if row is None else conversation_of(row)


def page(connection: Connection, tenant: str, after: str, limit: int) -> list[ConversationRow]:
    """A tenant's, by id, after `after`."""
    name = CONVERSATIONS.c.conversation_id
    query = select(CONVERSATIONS).where(CONVERSATIONS.c.tenant == tenant).order_by(name).limit(limit)
    if after:
        query = query.where(name > after)
    return [conversation_of(row) for row in connection.execute(query)]


def interrupted(connection: Connection) -> list[ConversationRow]:
    """Of all tenants, in the order in which they were made."""
    unfinished = select(OPERATIONS.c.conversation).where(OPERATIONS.c.status.in_(UNFINISHED))
    query = select(CONVERSATIONS).where(CONVERSATIONS.c.id.in_(unfinished)).order_by(CONVERSATIONS.c.id)
    return [conversation_of(row) for row in connection.execute(query)]


def find_or_make(connection: Connection, tenant: str, conversation_id: str, now: datetime) -> ConversationRow:
    """The one of this name, whoever made it.

    A key is drawn from 2^60, so that one of an erased conversation does not come back either.
    """
    key = "".join(secrets.choice(_ALPHABET) for _ in range(_KEY_LENGTH))
    fresh = ConversationRow(tenant, conversation_id, key, 0, 0, now, now)
    query = insert_into(connection, CONVERSATIONS).values(asdict(fresh))
    query = query.on_conflict_do_update(
        index_elements=["tenant", "conversation_id"],
        set_={"tenant": query.excluded.tenant},  # the same; without a change nothing would be returned
    )
    return conversation_of(connection.execute(query.returning(CONVERSATIONS)).one())


def add(connection: Connection, row: ConversationRow) -> int:
    """A new one under its own key; returns its number."""
    query = insert(CONVERSATIONS).values(asdict(row)).returning(CONVERSATIONS.c.id)
    return int(connection.execute(query).scalar_one())


class Locked(NamedTuple):
    """A conversation that nobody else changes until the end of the transaction, by its number."""

    id: int
    tenant: str


def locked(connection: Connection, key: str) -> Locked:
    """The conversation of a key.

    Raises:
        Conflict: When it is gone.
    """
    query = select(CONVERSATIONS.c.id, CONVERSATIONS.c.tenant).where(CONVERSATIONS.c.key == key)
    row = connection.execute(query.with_for_update(key_share=True)).one_or_none()
    if row is None:
        raise Conflict("the conversation is gone")
    return Locked(row.id, row.tenant)


def count_messages(connection: Connection, number: int, more: int, now: datetime) -> None:
    """Add to the number of messages."""
    counted = update(CONVERSATIONS).where(CONVERSATIONS.c.id == number)
    total = CONVERSATIONS.c.messages + more
    connection.execute(counted.values(messages=total, updated_at=now))


def next_revision(connection: Connection, key: str, revision: int, now: datetime) -> int:
    """Take the step from `revision` to the next; returns the conversation's number.

    Raises:
        Conflict: When another writer took it.
    """
    table = CONVERSATIONS.c
    step = update(CONVERSATIONS).where(table.key == key, table.revision == revision)
    step = step.values(revision=revision + 1, updated_at=now)
    number = connection.execute(step.returning(table.id)).scalar_one_or_none()
    if number is None:
        raise Conflict("the conversation was changed by another writer, or is gone")
    return int(number)


def remove(connection: Connection, key: str) -> None:
    """With all that belongs to it: messages, state, operations and idempotency keys."""
    connection.execute(delete(CONVERSATIONS).where(CONVERSATIONS.c.key == key))
