"""Is a statement supported by the messages it cites? Decided by words, with no model.

Catches a model that copies its prompt's own example, invents a name, or answers in another language
than the conversation. It does not prove a statement true.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import regex

from memsif_ray.memory.dates import explicit_dates
from memsif_ray.memory.terms import content_words, scripts, stems
from memsif_ray.text import words

MIN_COVERAGE = 0.3
"""Share of a statement's content words that its sources must say.

Measured on LoCoMo's `observation` statements without conversation 30 (2,372): at 0.3, and with the check of
names, 88 % pass against the message they cite, 98 % against the five messages around it (observations draw
on those, too), and 1.1 % against a random message of another session.
"""

# A capital inside a sentence. Scripts without capitals have no such mark, and nothing is found in them.
_NAME = regex.compile(r"(?<=[\p{Ll},;:]\s)\p{Lu}[\w'’\-]+")
_ANNOTATION = regex.compile(r"\[\d{4}[\d/\-]*\]")  # as `dates.annotate` writes it
_CALENDAR = frozenset(
    words("""
    monday tuesday wednesday thursday friday saturday sunday january february march april may june july august
    september october november december
    """)
)


class Grounding(NamedTuple):
    """The outcome of one check.

    Attributes:
        ok: Whether the statement may be stored.
        coverage: Share of its content words that its sources say, in [0, 1].
        missing: Content words that no source says.
        reason: Why it was refused: `language`, `names`, `words`; "" when it was not.
    """

    ok: bool
    coverage: float
    missing: tuple[str, ...]
    reason: str = ""


def grounded(
    statement: str, sources: Sequence[str], *, names: Collection[str] = (), threshold: float = MIN_COVERAGE
) -> Grounding:
    """Check `statement` against the texts of its evidence messages.

    Function words, `names` and dates resolved from relative words are neutral: they count neither way. A
    statement that says nothing else is refused.

    Args:
        statement: What would be stored.
        sources: Texts of the messages it cites.
        names: Speakers of the conversation; "I" in a message becomes one of them in a statement.
        threshold: Smallest coverage that passes.
    """
    neutral = {word for name in names for word in content_words(name)}
    said = {stem for text in sources for stem in stems(content_words(text))}
    content = [w for w in dict.fromkeys(content_words(_without_dates(statement))) if w not in neutral]
    missing = tuple(w for w, stem in zip(content, stems(content), strict=True) if stem not in said)
    coverage = 1 - len(missing) / len(content) if content else 0.0
    reason = ""
    if not scripts("".join(content)) <= scripts(" ".join(sources)):
        reason = "language"
    elif not _names(statement).isdisjoint(missing):
        reason = "names"
    elif coverage < threshold or not content:
        reason = "words"
    return Grounding(not reason, coverage, missing, reason)


def _names(statement: str) -> set[str]:
    return {word for match in _NAME.finditer(statement) for word in words(match[0])} - _CALENDAR


def _without_dates(statement: str) -> str:
    statement = _ANNOTATION.sub("", statement)
    for ref in reversed(explicit_dates(statement)):
        statement = statement[: ref.span[0]] + statement[ref.span[1] :]
    return statement
