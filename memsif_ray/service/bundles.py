"""A conversation as a file to take elsewhere, and back."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from memsif_ray.config import MemoryConfig
from memsif_ray.errors import DataError, EmbedderMismatch
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.memory.tools import Tools
from memsif_ray.service.ids import KEY
from memsif_ray.service.intake import as_message, local
from memsif_ray.service.models import Bundle
from memsif_ray.service.shown import source_message
from memsif_ray.service.state import restored
from memsif_ray.service.store import ConversationRow, StateRow, StoredMessage

_SESSIONS = "sessions"
"""Pseudo table of a bundle: names that callers gave to sessions."""


def packed(
    row: ConversationRow, messages: Sequence[StoredMessage], state: Sequence[StateRow], *, embedder: str
) -> Bundle:
    """Everything about a conversation."""
    tables: dict[str, list[dict[str, Any]]] = {}
    for one in state:
        vector = None if one.vector is None else base64.b64encode(one.vector).decode("ascii")
        plain = {"key": one.key, "content": dict(one.content), "vector": vector}
        tables.setdefault(one.table, []).append(plain)
    names = {m.session_name: m.session for m in messages if m.session_name is not None}
    tables[_SESSIONS] = [{"name": name, "number": number} for name, number in names.items()]
    return Bundle.model_validate(
        {
            "conversation_id": row.conversation_id,
            "key": row.key,
            "embedder": embedder,
            "messages": [source_message(m) for m in messages],
            "state": tables,
        }
    )


def unpacked(
    bundle: Bundle, *, operation_id: str, now: datetime, config: MemoryConfig, tools: Tools
) -> tuple[list[StoredMessage], list[StateRow], bool]:
    """Messages and state of a bundle, and whether the state covers all messages.

    It is read as a conversation is when it is loaded, so nothing is stored that could not be used.

    Raises:
        DataError: When it is not what `packed` makes.
        EmbedderMismatch: When its vectors are another embedder's: vectors of two never mix.
    """
    if KEY.fullmatch(bundle.key) is None:
        raise DataError(f"bundle: {bundle.key!r} is no key of a conversation")
    if bundle.embedder != tools.embedder.model_id:
        raise EmbedderMismatch(
            f"the bundle's vectors are of {bundle.embedder!r}, this service embeds with "
            f"{tools.embedder.model_id!r}: import it where that embedder runs, or ingest its messages anew"
        )
    try:
        rows = [
            _row(table, plain) for table, many in bundle.state.items() if table != _SESSIONS for plain in many
        ]
        names = {one["number"]: str(one["name"]) for one in bundle.state.get(_SESSIONS, [])}
    except (KeyError, TypeError, ValueError, binascii.Error) as exc:
        raise DataError(f"bundle: its state cannot be read: {exc}") from exc
    messages = [
        StoredMessage(
            message_id=m.id,
            position=m.position,
            session=m.session,
            session_name=names.get(m.session),
            role=m.role,
            name=m.name,
            content=m.content,
            timestamp=local(m.timestamp),
            received_at=now,
            operation_id=operation_id,
            metadata=m.metadata,
        )
        for m in sorted(bundle.messages, key=lambda m: m.position)
    ]
    memory = ConversationMemory(bundle.conversation_id, config=config, tools=tools)
    plain = [as_message(m, bundle.conversation_id) for m in messages]
    restored(memory, rows, plain, model_id=tools.embedder.model_id)
    return messages, rows, len(memory) == len(messages)


def _row(table: str, plain: Mapping[str, Any]) -> StateRow:
    vector, content = plain["vector"], plain["content"]
    if not isinstance(content, dict) or not (vector is None or isinstance(vector, str)):
        raise TypeError(f"{table}: no row")
    decoded = None if vector is None else base64.b64decode(vector, validate=True)
    return StateRow(table, str(plain["key"]), content, decoded)
