"""Between rows of tables and the values of `service`."""

from __future__ import annotations

from typing import Any

from sqlalchemy import Row

from memsif_ray.service.keys import KeyRow
from memsif_ray.service.models import AuditEntry, Operation
from memsif_ray.service.store import ConversationRow, StateRow, StoredMessage

MESSAGE_FIELDS = (
    "message_id",
    "position",
    "session",
    "session_name",
    "role",
    "name",
    "content",
    "timestamp",
    "received_at",
    "operation_id",
    "metadata",
)


def conversation_of(row: Row[Any]) -> ConversationRow:
    """A row of `conversations`."""
    return ConversationRow(
        tenant=row.tenant,
        conversation_id=row.conversation_id,
        key=row.key,
        revision=row.revision,
        messages=row.messages,
        created_at=row.created_at,
        updated_at=row.updated_at,
    )


def message_values(conversation: int, message: StoredMessage) -> dict[str, Any]:
    """A row of `messages`."""
    return {"conversation": conversation} | {name: getattr(message, name) for name in MESSAGE_FIELDS}


def message_of(row: Row[Any]) -> StoredMessage:
    """A row of `messages`."""
    return StoredMessage(**{name: row._mapping[name] for name in MESSAGE_FIELDS})


def state_values(conversation: int, row: StateRow) -> dict[str, Any]:
    """A row of `state`."""
    return {
        "conversation": conversation,
        "table": row.table,
        "key": row.key,
        "content": row.content,
        "vector": row.vector,
    }


def state_of(row: Row[Any]) -> StateRow:
    """A row of `state`."""
    return StateRow(table=row.table, key=row.key, content=row.content, vector=row.vector)


def operation_values(operation: Operation) -> dict[str, Any]:
    """A row of `operations` but its number and conversation; `memories` are of operations never stored."""
    plain = operation.model_dump(exclude={"conversation_id", "status", "memories"})
    return plain | {"status": operation.status.value}


def operation_of(row: Row[Any]) -> Operation:
    """A row of `operations` joined with the name of its conversation."""
    return Operation(
        id=row.id,
        kind=row.kind,
        conversation_id=row.conversation_id,
        status=row.status,
        created_at=row.created_at,
        updated_at=row.updated_at,
        accepted=row.accepted,
        duplicates=row.duplicates,
        message_ids=tuple(row.message_ids),
        error=row.error,
    )


def audit_of(row: Row[Any]) -> AuditEntry:
    """A row of `audit`."""
    return AuditEntry(
        at=row.at, key_id=row.key_id, request_id=row.request_id, action=row.action, target=row.target
    )


def key_of(row: Row[Any]) -> KeyRow:
    """A row of `api_keys`, without the digest."""
    return KeyRow(
        key_id=row.key_id,
        tenant=row.tenant,
        name=row.name,
        created_at=row.created_at,
        per_minute=row.per_minute,
        revoked_at=row.revoked_at,
    )
