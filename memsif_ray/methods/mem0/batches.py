"""What both profiles of Mem0 share: batches of messages, checked facts, and memories as a context."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from memsif_ray.methods.lines import chronological, pack
from memsif_ray.methods.note_lines import message_ids_of, note_item
from memsif_ray.ports import TokenCounter
from memsif_ray.text import is_blank
from memsif_ray.types import Context, Conversation, Message, Note


@dataclass(frozen=True, slots=True)
class Batch:
    """Messages of one session that are read together.

    Attributes:
        messages: What facts are taken from; at least one.
        start: How many messages of the conversation came before.
        recent: The last of those, as background.
    """

    messages: tuple[Message, ...]
    start: int
    recent: tuple[Message, ...]

    @property
    def batch_id(self) -> str:
        """Id of its first message."""
        return self.messages[0].message_id

    @property
    def date(self) -> str:
        """The day, as prompts show it."""
        return f"{self.messages[0].timestamp:%Y-%m-%d (%A)}"

    def memory(self, note_id: str, text: str, *, tags: tuple[str, ...], detail: str) -> Note:
        """A memory learned from this batch."""
        ids = tuple(message.message_id for message in self.messages)
        return Note(note_id, "memory", text, ids, self.messages[-1].timestamp, tags=tags, detail=detail)


def spoken_messages(conversation: Conversation) -> list[Message]:
    """The messages that say something."""
    return [message for message in conversation.messages if not is_blank(message.content)]


def batches_of(messages: Sequence[Message], *, size: int, recent: int) -> list[Batch]:
    """Batches of up to `size` messages, none across two sessions, each with the `recent` before it."""
    batches: list[Batch] = []
    start = 0
    for _, group in groupby(messages, key=lambda message: message.session):
        session = tuple(group)
        for at in range(0, len(session), size):
            here = start + at
            before = tuple(messages[max(0, here - recent) : here])
            batches.append(Batch(session[at : at + size], here, before))
        start += len(session)
    return batches


def one_line(value: Any) -> str:
    """A model's text on one line; "" for what is no text or blank."""
    return "" if not isinstance(value, str) or is_blank(value) else " ".join(value.split())


def memory_context(ranked: Sequence[tuple[Note, float]], *, budget: int, tokens: TokenCounter) -> Context:
    """Memories and their scores, best first, as the lines that fit; the first tag says who it is about."""
    items = pack([note_item(note, note.tags[0], score=score) for note, score in ranked], budget, tokens)
    return Context(chronological(items), retrieved_ids=message_ids_of(note for note, _ in ranked))
