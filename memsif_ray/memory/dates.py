"""Dates in words, resolved against the time of the message that says them.

The wall clock is never read: the only "today" is the anchor, so importing old history and replaying
it later give the same dates. What the words leave open stays open: "last year" is a year, not a day,
and "recently" is nothing. The grammar is English; numbers-only dates must be in ISO order, because
03/04 means two days.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta

from memsif_ray.memory.date_phrases import HINT, RULES, Phrase


@dataclass(frozen=True, slots=True)
class TimeRef:
    """One date phrase and the days that it means.

    Attributes:
        text: The phrase as written.
        span: Where it stands in the text, start inclusive, end exclusive.
        start: First day.
        end: Last day, inclusive.
        explicit: True when the phrase itself names the year, so no anchor was needed.
    """

    text: str
    span: tuple[int, int]
    start: date
    end: date
    explicit: bool = False

    @property
    def label(self) -> str:
        """ISO 8601 as fine as known: `2023-12-31`, `2023-12`, `2023`, or `start/end` in days or months."""
        if self.start == self.end:
            return self.start.isoformat()
        if self.start.day != 1 or (self.end + timedelta(days=1)).day != 1:
            return f"{self.start.isoformat()}/{self.end.isoformat()}"
        first, last = self.start.isoformat()[:7], self.end.isoformat()[:7]
        if first == last:
            return first
        return first[:4] if last == f"{first[:4]}-12" and first.endswith("-01") else f"{first}/{last}"

    @property
    def spoken(self) -> str:
        """The same in words, as people write and models read it: `31 December 2023`, `December 2023`."""
        if self.start == self.end:
            return spoken(self.start)
        label = self.label
        if len(label) == len("2023"):
            return label
        if len(label) == len("2023-12"):
            return f"{self.start:%B %Y}"
        return f"{spoken(self.start)} to {spoken(self.end)}"


def spoken(day: date) -> str:
    """A day as people write it: `7 May 2023`."""
    return f"{day.day} {day:%B %Y}"


# A date after one of these says how long, not when.
_LIMIT = re.compile(r"\b(?:since|until|till|by|before|after)\s+(?:the\s+)?$", re.IGNORECASE)
_YEAR = re.compile(r"\d{4}")


def resolve(text: str, anchor: datetime) -> tuple[TimeRef, ...]:
    """Every date phrase of `text`, in reading order, none overlapping another.

    Args:
        text: What was said.
        anchor: When it was said.
    """
    return _resolve(text, anchor.date(), past=False)


def explicit_dates(text: str) -> tuple[TimeRef, ...]:
    """Only the dates that name their year, which need no anchor."""
    if _YEAR.search(text) is None:
        return ()
    any_day = date(2000, 1, 1)  # what depends on it is dropped
    return tuple(ref for ref in _resolve(text, any_day, past=False) if ref.explicit)


def event_time(text: str, anchor: datetime) -> TimeRef | None:
    """When the thing happened that `text` is mainly about; None when it does not say.

    The first date counts, narrowed by others inside it ("last month, on 7 May"). Limits such as
    "since 2019" or "until Friday" count only when there is nothing else.
    """
    refs = resolve(text, anchor)
    chosen = [ref for ref in refs if not _LIMIT.search(text, 0, ref.span[0])] or list(refs)
    if not chosen:
        return None
    first = chosen[0]
    inside = [ref for ref in chosen if first.start <= ref.start and ref.end <= first.end]
    return min(inside, key=lambda ref: ref.end - ref.start)


def parse_question_time(text: str, asked_at: datetime | None = None) -> TimeRef | None:
    """The period a question asks about, e.g. "in May 2023"; None when it names none.

    Unlike in a statement, a month without a year is the latest one: questions look back.

    Args:
        text: The question.
        asked_at: When it was asked; without it only dates that name their year count.
    """
    refs = explicit_dates(text) if asked_at is None else _resolve(text, asked_at.date(), past=True)
    return refs[0] if refs else None


def annotate(text: str, anchor: datetime) -> str:
    """`text` with what each phrase means in brackets behind it.

    "Yesterday I sold the piano." becomes "Yesterday [31 December 2023] I sold the piano."
    Phrases that name their year stay as they are, and annotating twice changes nothing.
    """
    for ref in reversed(resolve(text, anchor)):
        note, end = f" [{ref.spoken}]", ref.span[1]
        if not ref.explicit and not text.startswith(note, end):
            text = text[:end] + note + text[end:]
    return text


def _resolve(text: str, today: date, *, past: bool) -> tuple[TimeRef, ...]:
    longest_first = sorted(_candidates(text, today, past), key=lambda ref: ref.span[0] - ref.span[1])
    kept: list[TimeRef] = []
    for ref in longest_first:
        if all(ref.span[1] <= other.span[0] or other.span[1] <= ref.span[0] for other in kept):
            kept.append(ref)
    return tuple(sorted(kept, key=lambda ref: ref.span))


def _candidates(text: str, today: date, past: bool) -> Iterator[TimeRef]:
    if HINT.search(text) is None:
        return
    for pattern, rule in RULES:
        for match in pattern.finditer(text):
            try:
                start, end = rule(Phrase(match, today, past))
            except (ValueError, OverflowError):  # no such day: 30 February, 9000 years ago
                continue
            explicit = bool(match.groupdict().get("year"))
            yield TimeRef(match["when"], match.span("when"), start, end, explicit)
