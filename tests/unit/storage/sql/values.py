"""Values to store."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from memsif_ray.service.models import Operation, OperationStatus
from memsif_ray.service.store import StoredMessage

AT = datetime(2026, 3, 1, 9, 0, 0, 123456, tzinfo=UTC)


def operation(name: str, **changes: Any) -> Operation:
    values = {
        "id": f"op_{name}",
        "kind": "ingest",
        "conversation_id": "c1",
        "status": OperationStatus.PENDING,
        "created_at": AT,
        "updated_at": AT,
    }
    return Operation(**(values | changes))


def message(position: int, content: str = "hello", **changes: Any) -> StoredMessage:
    values = {
        "message_id": f"msg_{position}",
        "position": position,
        "session": 0,
        "session_name": None,
        "role": "user",
        "name": "Amy",
        "content": content,
        "timestamp": datetime(2026, 2, 28, 23, 59, 59, 999999),
        "received_at": AT,
        "operation_id": "op_a",
    }
    return StoredMessage(**(values | changes))
