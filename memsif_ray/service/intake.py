"""From messages of a request to messages of a conversation: ids, places, times and sessions."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from memsif_ray.errors import Conflict
from memsif_ray.service.models import IngestRequest, MessageIn
from memsif_ray.service.store import StoredMessage
from memsif_ray.types import Message

PAUSE = timedelta(hours=6)
"""After a longer one a message without a session begins another."""


@dataclass(frozen=True, slots=True)
class Draft:
    """What a request adds to a conversation.

    Attributes:
        new: To be stored.
        ids: Of all messages of the request, in order.
    """

    new: tuple[StoredMessage, ...]
    ids: tuple[str, ...]


def local(time: datetime) -> datetime:
    """The clock on the speaker's wall: memory resolves "yesterday" by it, and has no zones."""
    return time.replace(tzinfo=None)


def draft(
    request: IngestRequest,
    stored: Sequence[StoredMessage],
    known: Mapping[str, StoredMessage],
    *,
    operation_id: str,
    now: datetime,
) -> Draft:
    """What `request` adds to what is `stored`; messages whose id is known are left out.

    Raises:
        Conflict: When an id is used for another text.
    """
    sessions, ids = _Sessions(stored), []
    begin = stored[-1].position + 1 if stored else 0
    new: dict[str, StoredMessage] = {}
    occurrences: Counter[str] = Counter()
    for message in request.messages:
        given = _digest(message)
        occurrences[given] += 1
        place = begin + len(new) if message.timestamp is None else occurrences[given]
        message_id = message.id or f"msg_{given}_{place}"
        ids.append(message_id)
        before = new.get(message_id) or known.get(message_id)
        if before is not None:
            _same(before, message)
            continue
        at = local(message.timestamp or now)
        new[message_id] = StoredMessage(
            message_id=message_id,
            position=begin + len(new),
            session=sessions.number(message, at),
            session_name=message.session,
            role=message.role,
            name=message.name or message.role,
            content=message.content,
            timestamp=at,
            received_at=now,
            operation_id=operation_id,
            metadata=message.metadata,
        )
        sessions.follow(new[message_id])
    return Draft(tuple(new.values()), tuple(ids))


def as_message(stored: StoredMessage, conversation_id: str) -> Message:
    """A stored message as memory takes it in."""
    return Message(
        conversation_id=conversation_id,
        message_id=stored.message_id,
        position=stored.position,
        session=stored.session,
        speaker=stored.name,
        text=stored.content,
        timestamp=stored.timestamp,
        role=stored.role,
    )


def request_digest(request: IngestRequest) -> str:
    """What makes two requests with one idempotency key the same."""
    return hashlib.sha256(request.model_dump_json(exclude={"wait"}).encode()).hexdigest()


class _Sessions:
    """The sessions of a conversation, as far as it has come."""

    def __init__(self, stored: Sequence[StoredMessage]) -> None:
        self._names = {m.session_name: m.session for m in stored if m.session_name is not None}
        self._highest = max((m.session for m in stored), default=0)
        self._last = stored[-1] if stored else None

    def number(self, message: MessageIn, at: datetime) -> int:
        """That of a message that comes next: the one it names, or the one that goes on."""
        if message.session is not None:
            return self._names.get(message.session, self._highest + 1)
        last = self._last
        if last is None or last.session_name is not None or abs(at - last.timestamp) > PAUSE:
            return self._highest + 1
        return last.session

    def follow(self, message: StoredMessage) -> None:
        """Go on to a message."""
        self._last, self._highest = message, max(self._highest, message.session)
        if message.session_name is not None:
            self._names[message.session_name] = message.session


def _digest(message: MessageIn) -> str:
    """Of what was said, by whom, and when where that was given."""
    said = [message.role, message.name, message.session, message.content, str(message.timestamp or "")]
    return hashlib.sha256(json.dumps(said).encode()).hexdigest()[:16]


def _same(before: StoredMessage, message: MessageIn) -> None:
    if before.content != message.content or before.role != message.role:
        raise Conflict(f"message id {before.message_id!r} is used for another text")
