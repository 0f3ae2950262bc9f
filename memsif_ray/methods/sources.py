"""From what a model wrote back to the messages it rests on, and from notes to lines of a context."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from memsif_ray.memory.dates import annotate, spoken
from memsif_ray.memory.lexical import LexicalIndex, lexical_terms
from memsif_ray.memory.terms import content_words, stems
from memsif_ray.prompts import escape
from memsif_ray.text import is_blank
from memsif_ray.types import ContextItem, Message

T = TypeVar("T")


def texts(values: Any, *, at_most: int) -> tuple[str, ...]:
    """The strings that say something in a list of a reply, each once; whatever else is there is dropped."""
    listed = values if isinstance(values, (list, tuple)) else ()
    said = [value for value in listed if isinstance(value, str) and not is_blank(value)]
    return tuple(dict.fromkeys(said))[:at_most]


def numbered(values: Any, offered: Sequence[T]) -> tuple[T, ...]:
    """Those of `offered` that a list of a reply names by number, from 1, each once, in the reply's order."""
    named = values if isinstance(values, list) else []
    numbers = dict.fromkeys(n for n in named if type(n) is int and 1 <= n <= len(offered))
    return tuple(offered[n - 1] for n in numbers)


def closest(text: str, messages: Sequence[Message], *, k: int = 1) -> tuple[Message, ...]:
    """The at most `k` messages that `text` most likely came from: best by BM25, none that shares no word."""
    scores = LexicalIndex([lexical_terms(m.content) for m in messages]).scores(lexical_terms(text))
    best = sorted(range(len(messages)), key=lambda i: -scores[i])[:k]
    return tuple(messages[i] for i in best if scores[i] > 0)


def missing_share(text: str, context: str) -> float:
    """Share of the content words of `text` that `context` does not say, in [0, 1]; 0 when it has none."""
    wanted = set(stems(content_words(text)))
    return len(wanted - set(stems(content_words(context)))) / max(1, len(wanted))


def dated(text: str, when: datetime) -> str:
    """A statement as MemSIF renders its evidence: the day it was said, relative dates resolved."""
    return f"[{spoken(when)}] {escape(annotate(text, when))}"


def ranked_ids(items: Iterable[ContextItem]) -> tuple[str, ...]:
    """The message ids behind lines, those of the best line first, each once."""
    return tuple(dict.fromkeys(mid for item in items for mid in item.message_ids))
