"""Notes as lines of an answer context, dated and attributed as MemSIF's evidence is."""

from __future__ import annotations

from collections.abc import Iterable

from memsif_ray.memory.dates import annotate, spoken
from memsif_ray.prompts import escape
from memsif_ray.types import ContextItem, Note


def note_item(note: Note, who: str, *, score: float, cites: bool = True) -> ContextItem:
    """A note as `[7 May 2023] Ann: text`, its relative dates resolved; without a date where it has none.

    Args:
        note: What to show.
        who: Whom it is about, or what it is.
        score: Its relevance to the question.
        cites: False for a summary of so many messages that naming them would claim every evidence found.
    """
    said, date = note.text, ""
    if note.timestamp is not None:
        said, date = annotate(said, note.timestamp), f"[{spoken(note.timestamp)}] "
    line = f"{date}{escape(who)}: {escape(said)}"
    return ContextItem(
        note.note_id, note.kind, line, note.message_ids if cites else (), note.timestamp, score
    )


def message_ids_of(notes: Iterable[Note]) -> tuple[str, ...]:
    """The messages that notes rest on, in the notes' order, each once."""
    return tuple(dict.fromkeys(message_id for note in notes for message_id in note.message_ids))
