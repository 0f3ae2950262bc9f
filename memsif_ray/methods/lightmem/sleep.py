"""LightMem's sleep: when nothing more comes in, entries are revised in the light of later ones like them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.dates import spoken
from memsif_ray.methods.asking import ask_with
from memsif_ray.methods.base import Tools
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.together import together
from memsif_ray.text import is_blank
from memsif_ray.types import Decision, Matrix, Note

NEAREST, QUEUED = 20, 10
"""Earlier entries looked up for an entry, and how many of them stay in its update queue."""
SOURCES = 20
"""Most similar later entries shown for one target: a weak model may have written one fact many times."""

Neighbour = tuple[int, float]
"""Number of an entry, and its cosine."""


async def sleep(book: NoteBook, *, at_least: float, tools: Tools) -> list[Decision]:
    """Queue for every entry the earlier ones it resembles, then update, delete or keep each of those.

    Targets do not depend on each other: all are decided on the memory as it was before the sleep, side by
    side, and applied in order.

    Args:
        book: Its entries are changed.
        at_least: Cosine from which a later entry may change an earlier one.
        tools: For the model that decides.

    Raises:
        ServiceError: When the endpoint or the embedder failed.
    """
    entries = sorted(book, key=lambda note: (note.timestamp is None, note.timestamp))
    queues = update_queues(book.matrix(entries)) if entries else []
    await book.write(
        [
            replace(entry, links=tuple(entries[earlier].note_id for earlier, _ in queue))
            for entry, queue in zip(entries, queues, strict=True)
            if queue
        ]
    )
    entries = [book[entry.note_id] for entry in entries]
    work = {
        target: [entries[later] for later in laters]
        for target, laters in changers(queues, at_least=at_least).items()
    }
    ruled = await together(_rule(entries[target], later, tools) for target, later in work.items())
    await book.write([note for note, decision in ruled if decision.outcome == "update"])
    for note, decision in ruled:
        if decision.outcome == "delete":
            book.delete(note.note_id)
    return [decision for _, decision in ruled]


def update_queues(vectors: Matrix) -> list[list[Neighbour]]:
    """Per entry the earlier ones nearest to it, best first; of equally near ones the earliest first.

    Args:
        vectors: Unit vectors of entries in order of time, shape (n, dim).
    """
    cosines = vectors @ vectors.T
    nearest = [np.argsort(-row[:n], kind="stable")[:NEAREST] for n, row in enumerate(cosines)]
    return [[(int(i), float(cosines[n, i])) for i in near[:QUEUED]] for n, near in enumerate(nearest)]


def changers(queues: Sequence[Sequence[Neighbour]], *, at_least: float) -> dict[int, list[int]]:
    """Target → the later entries whose queue has it with enough cosine, oldest first; targets in order.

    Args:
        queues: Of all entries, in order of time.
        at_least: Least cosine.
    """
    found: dict[int, list[tuple[float, int]]] = {}
    for later, queue in enumerate(queues):
        for target, cosine in queue:
            if cosine >= at_least:
                found.setdefault(target, []).append((-cosine, later))
    return {target: sorted(later for _, later in sorted(found[target])[:SOURCES]) for target in sorted(found)}


async def _rule(target: Note, later: Sequence[Note], tools: Tools) -> tuple[Note, Decision]:
    """What becomes of one entry, and who says so; an unusable reply leaves it as it is."""
    try:
        reply = await ask_with(
            tools,
            "lightmem/update",
            max_tokens=200,
            target=_shown(target),
            notes=[_shown(note) for note in later],
        )
        if reply["action"] == "update" and is_blank(reply["memory"]):
            raise ReplyInvalid("no_content", "update without a text")
    except ReplyInvalid as exc:
        return target, Decision("update", target.note_id, "ignore", "fallback", detail=str(exc))
    decision = Decision("update", target.note_id, reply["action"], "llm")
    if reply["action"] != "update":
        return target, decision
    sources = (message_id for note in (target, *later) for message_id in note.message_ids)
    return replace(target, text=reply["memory"].strip(), message_ids=tuple(dict.fromkeys(sources))), decision


def _shown(note: Note) -> str:
    return f"({spoken(note.timestamp)}): {note.text}" if note.timestamp else note.text
