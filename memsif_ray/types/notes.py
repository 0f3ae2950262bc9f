"""What compared systems keep in memory."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Note:
    """One piece of a compared system's memory: a memory item, page, session, episode, theme or profile.

    Append-only like facts: a later note of the same id replaces the earlier one in the current view.

    Attributes:
        note_id: Unique in the conversation, but for its later versions.
        kind: What the system calls it, e.g. `memory`, `page`, `episode`.
        text: As it is searched or shown.
        message_ids: The messages it rests on.
        timestamp: When that was said; None where it spans times.
        links: Ids of other notes: members, parents, neighbours.
        tags: Keywords, entities, people.
        detail: What else the system keeps, as JSON.
        active: False once it was deleted or merged into another.
    """

    note_id: str
    kind: str
    text: str
    message_ids: tuple[str, ...] = ()
    timestamp: datetime | None = None
    links: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    detail: str = ""
    active: bool = True
