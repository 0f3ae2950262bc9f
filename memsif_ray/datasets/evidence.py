"""LoCoMo's evidence entries, read as they were meant, and read strictly."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from typing import NamedTuple

from memsif_ray.datasets.model import Repair

# `D8:6`, and on disk also `D:11:26` and `D30:05`; several may share one string, however separated.
_DIALOGUE_ID = re.compile(r"(?<![A-Za-z0-9])D:?(\d+):(\d+)")


class EvidenceReading(NamedTuple):
    """Evidence of one question.

    Attributes:
        ids: Message ids that exist, distinct, in file order.
        read: Number of ids read.
        resolved: Number of those that exist, repetitions included.
        repairs: Entries that were not simply one valid id.
    """

    ids: tuple[str, ...]
    read: int
    resolved: int
    repairs: tuple[Repair, ...]


def parse_dialogue_ids(raw: str) -> tuple[str, ...]:
    """Every dialogue id in a string, in canonical spelling; () when there is none."""
    return tuple(f"D{int(session)}:{int(turn)}" for session, turn in _DIALOGUE_ID.findall(raw))


def read_evidence(
    entries: Sequence[str], known: Collection[str], *, conversation_id: str, question_index: int
) -> EvidenceReading:
    """Repair the evidence entries of one question.

    Args:
        entries: As the file has them.
        known: Message ids of the conversation.
        conversation_id: For the repairs.
        question_index: For the repairs.
    """
    ids: list[str] = []
    read = resolved = 0
    repairs: list[Repair] = []

    def note(raw: str, kept: tuple[str, ...], kind: str) -> None:
        repairs.append(Repair(conversation_id, question_index, raw, kept, kind))

    for raw in entries:
        named = (raw,) if raw in known else parse_dialogue_ids(raw)
        found = tuple(name for name in named if name in known)
        read, resolved = read + len(named), resolved + len(found)
        if found != (raw,):
            note(raw, found, _kind(named, found))
        for name in found:
            if name in ids:
                note(raw, (name,), "duplicate")
            else:
                ids.append(name)
    if not entries:
        note("", (), "no_evidence")
    return EvidenceReading(tuple(ids), read, resolved, tuple(repairs))


def strict_evidence(entries: Sequence[str], known: Collection[str]) -> tuple[str, ...]:
    """Distinct entries that are exactly one valid message id; all others are left out, unrepaired."""
    return tuple(dict.fromkeys(raw for raw in entries if raw in known))


def _kind(named: tuple[str, ...], found: tuple[str, ...]) -> str:
    if not named:
        return "unreadable"
    if len(found) < len(named):
        return "absent"
    return "split" if len(named) > 1 else "rewritten"
