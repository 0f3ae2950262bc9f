"""Cue phrases: which sentence discloses a lasting fact, and how long what it says holds. English.

The model-free counterpart of LLM extraction. It aims at precision: a sentence without a cue is not lost,
it stays in the interaction memory and is found when a question needs it.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime, time, timedelta

from memsif_ray.memory.dates import TimeRef
from memsif_ray.types import Message

SINGLE_VALUED = frozenset({"home", "employer", "job", "age", "marital status", "birthday"})
"""Slots that hold one value at a time: a newer value replaces the older one without asking a model."""

_FAMILY = r"""mom mother mum dad father sister brother wife husband son daughter kids? child children grand\w+
    aunt uncle cousin niece nephew family partner fianc[eé]e? girlfriend boyfriend"""
_PETS = "dogs? cats? pets? puppy puppies kittens? hamster parrot rabbit turtles?"
_PEOPLE = r"friends? colleagues? co-?workers? boss neighbou?rs? team\w* roommates? mentor coach"
_DEEDS = """bought got started opened finished won lost joined adopted visited went attended met launched
    signed passed quit made took had did ran built organi[sz]ed hosted received learned celebrated moved
    booked sold broke completed"""
_JUST = "(?:just |finally |recently |already |really |absolutely |also )?"
_AM = r"\bI(?:'m| am)"


def _any(words: str) -> str:
    return f"(?:{'|'.join(words.split())})"


# (type, slot, pattern), most telling first: the first that matches a sentence names its slot.
# fmt: off
_PATTERNS = (
    ("Identity", "home", rf"\bI(?:'ve| have|'m| am)? {_JUST}(?:liv|mov|relocat)\w+\b.* (?:in|to|into)\b"),
    ("Identity", "employer", r"\bI(?:'m| am)?(?: now)? (?:work|working|(?:got|was) hired) (?:at|for|by)\b"),
    ("Identity", "job", r"\bI (?:work as|became|started as|got (?:a|my) (?:new )?job as)(?: now)? an? \w+"),
    ("Identity", "age", r"\bI(?:'m| am| just turned| turned) \d{1,3}\b(?! (?:minute|hour|day|week|km|mile))"),
    ("Identity", "background", r"\bI(?:'m from| am from| was born| grew up| studied| graduated)\b"),
    ("Relation", "pet", rf"\bmy (?:new )?{_any(_PETS)}\b"),
    ("Relation", "family", rf"\bmy {_any(_FAMILY)}\b"),
    ("Relation", "people", rf"\bmy (?:(?:best|old|close) )?{_any(_PEOPLE)}\b"),
    ("Preference", "likes", rf"\bI {_JUST}(?:love|like|enjoy|adore|prefer)\b|\bmy (?:\w+ )?favou?rite\b"),
    ("Preference", "likes", rf"{_AM} (?:really |so )?(?:into|passionate about|a (?:\w+ )?fan of)\b"),
    ("Preference", "dislikes", rf"\bI {_JUST}(?:hate|dislike|can't stand|don't (?:like|enjoy))\b"),
    ("Preference", "allergy", rf"{_AM} allergic\b|\bmy allerg(?:y|ies)\b"),
    ("Event", "plan", rf"{_AM} (?:planning|going to|gonna|about to|thinking of)\b|\bI plan to\b"),
    ("Event", "event", rf"\b(?:I|we)(?:'ve| have)? {_JUST}{_any(_DEEDS)}\b|^{_JUST}{_any(_DEEDS)}\b"),
)
# fmt: on
_CUES = tuple((type_, slot, re.compile(pattern, re.I)) for type_, slot, pattern in _PATTERNS)
_SENTENCE = re.compile(r"[^.!?\n]+(?:[.!?]+|$)")
_INCEPTION = re.compile(
    r"\b(?:moved?|start(?:ed|ing)?|switch(?:ed)?|bec[oa]me|got|joined|opened|adopted|bought|since|began)\b",
    re.I,
)
_CLOSED = re.compile(r"\b(?:used to|back in|lived|worked|studied|was|were|spent)\b", re.I)


@dataclass(frozen=True, slots=True)
class Cue:
    """A sentence that discloses something, with the type and slot its cue stands for."""

    type: str
    attribute: str
    sentence: str


def find_cues(message: Message) -> list[Cue]:
    """The disclosing sentences of a message, first matching cue each; an assistant discloses nothing."""
    if message.role == "assistant":
        return []
    sentences = (m.group().strip() for m in _SENTENCE.finditer(message.content))
    hits = (_first_cue(s) for s in sentences if not s.endswith("?"))
    return [cue for cue in hits if cue is not None]


def validity(text: str, ref: TimeRef | None, said_at: datetime) -> tuple[datetime | None, datetime | None]:
    """From when until when a statement holds.

    Without a date it holds from when it was said. A date with a word of beginning ("moved", "since")
    opens an interval; a past date with a word of closure ("lived", "used to") is over.
    """
    if ref is None or ref.start > said_at.date():
        return said_at, None
    begins = datetime.combine(ref.start, time.min)
    over = ref.end < said_at.date() and _CLOSED.search(text) and not _INCEPTION.search(text)
    return begins, datetime.combine(ref.end + timedelta(days=1), time.min) if over else None


def _first_cue(sentence: str) -> Cue | None:
    if not 12 <= len(sentence) <= 300:
        return None
    for type_, slot, pattern in _CUES:
        if pattern.search(sentence):
            return Cue(type_, slot, sentence)
    return None
