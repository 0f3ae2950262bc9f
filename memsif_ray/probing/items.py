"""The probe set: small hand-written items, one file per decision, shipped with the package.

Items of a yes-or-no decision are balanced, so a model that always says the same is right half the time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from importlib.resources import files
from typing import TypeVar

from pydantic import TypeAdapter

from memsif_ray.config import Strict, fingerprint
from memsif_ray.types import Message

Said = tuple[str, str]
"""Speaker and text of one message."""


class BoundaryItem(Strict):
    """Does `message` continue the topic of `before`?"""

    id: str
    before: tuple[Said, ...]
    message: Said
    following: tuple[Said, ...] = ()
    continues: bool


class Dated(Strict):
    """Messages of one day."""

    date: str
    messages: tuple[Said, ...]


class TrajectoryItem(Strict):
    """Is `segment` part of the same evolving event as `candidate`?"""

    id: str
    segment: Dated
    candidate: Dated
    compatible: bool


class SufficiencyItem(Strict):
    """Do the facts answer the question?"""

    id: str
    facts: tuple[str, ...]
    question: str
    sufficient: bool


class Slot(Strict):
    """A statement and the slot it fills."""

    attribute: str
    statement: str


class ConsolidationItem(Strict):
    """Which operation does the candidate call for?"""

    id: str
    subject: str
    candidate: Slot
    existing: tuple[Slot, ...]
    op: str


class Planted(Strict):
    """A fact that an extraction should find: any of the subjects and types, and all of the words."""

    subject: str
    aliases: tuple[str, ...] = ()
    types: tuple[str, ...]
    words: tuple[str, ...]


class ExtractionItem(Strict):
    """Messages with the facts they hold, which may be none."""

    id: str
    date: str
    messages: tuple[Said, ...]
    facts: tuple[Planted, ...]


class DistilItem(Strict):
    """Messages, a question, and per piece of evidence the words that carry it."""

    id: str
    question: str
    messages: tuple[Said, ...]
    words: tuple[tuple[str, ...], ...]


class SynthesisItem(Strict):
    """Notes that repeat each other, and the words that one statement must keep."""

    id: str
    subject: str
    notes: tuple[str, ...]
    words: tuple[str, ...]


Item = TypeVar("Item", bound=Strict)

_FOLDER = "items"
_MORNING = timedelta(hours=9)


@lru_cache
def _source(decision: str) -> str:
    return files(__package__).joinpath(_FOLDER, f"{decision}.json").read_text(encoding="utf-8")


def load_items(decision: str, kind: type[Item]) -> tuple[Item, ...]:
    """The items of one decision."""
    return TypeAdapter(tuple[kind, ...]).validate_python(json.loads(_source(decision)))  # type: ignore[valid-type]


def items_fingerprint(decision: str) -> str:
    """Changes with the items of one decision."""
    return fingerprint(_source(decision))


def as_messages(said: Sequence[Said], *, date: str = "2024-01-15", first: int = 0) -> list[Message]:
    """Messages of one session, a minute apart, numbered from `first`."""
    opened = datetime.fromisoformat(date) + _MORNING
    return [
        Message("probe", f"D1:{n}", n, 1, speaker, text, opened + timedelta(minutes=n))
        for n, (speaker, text) in enumerate(said, start=first)
    ]
