"""The grammar of English date phrases: one pattern and one rule of calendar arithmetic per kind.

`dates.py` is the way in. Every pattern marks the date itself as `when`; a pattern that can hold a
year marks it as `year`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from typing import TypeAlias

Span: TypeAlias = tuple[date, date]
"""First and last day, both included."""

_DAY_OFFSETS = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
_SEASONS = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}  # northern; first of three months
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_NUMBERS = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")


@dataclass(frozen=True, slots=True)
class Phrase:
    """What a rule sees: its match, the day it was said, and whether an open year lies in the past."""

    match: re.Match[str]
    today: date
    past: bool

    def __getitem__(self, group: str) -> str:
        """A group in lower case, single-spaced; "" when it took no part."""
        return " ".join((self.match[group] or "").lower().split())

    @property
    def month(self) -> int:
        """Number of the month named."""
        return _MONTHS.index(self["month"][:3]) + 1


def _months(year: int, month: int, count: int = 1) -> Span:
    """`count` whole months; `month` may run past either end of the year."""
    index = year * 12 + month - 1
    first, after = (date(i // 12, i % 12 + 1, 1) for i in (index, index + count))
    return first, after - timedelta(days=1)


def _calendar(unit: str, offset: int, today: date) -> Span:
    """The calendar unit `offset` away from the one that holds `today`; weeks start on Monday."""
    if unit == "month":
        return _months(today.year, today.month + offset)
    if unit == "year":
        return _months(today.year + offset, 1, 12)
    monday = today + timedelta(days=7 * offset - today.weekday())
    return monday + timedelta(days=5 if unit == "weekend" else 0), monday + timedelta(days=6)


def _pick(which: str, spans: Sequence[Span], today: date) -> Span:
    """Which occurrence of something recurring is meant; the nearest when `which` does not say."""
    if which in ("next", "this coming"):
        return next(span for span in spans if span[0] > today)
    if which in ("last", "this past"):
        return next(span for span in reversed(spans) if span[1] < today)
    return min(spans, key=lambda span: abs(span[0] - today))


def _around(today: date, month: int, count: int = 1) -> list[Span]:
    return [_months(year, month, count) for year in range(today.year - 2, today.year + 3)]


def _iso_day(phrase: Phrase) -> Span:
    day = date(int(phrase["year"]), int(phrase["number"]), int(phrase["day"]))
    return day, day


def _iso_month(phrase: Phrase) -> Span:
    first = date(int(phrase["year"]), int(phrase["number"]), 1)
    return _months(first.year, first.month)


def _day_of_month(phrase: Phrase) -> Span:
    month = _month(phrase)[0]
    day = month.replace(day=int(phrase["day"]))
    if phrase.past and not phrase["year"] and day > phrase.today:
        day = day.replace(year=day.year - 1)
    return day, day


def _month(phrase: Phrase) -> Span:
    """A month of the year named; else the nearest one, or in a question the latest."""
    if phrase["year"]:
        return _months(int(phrase["year"]), phrase.month)
    spans = _around(phrase.today, phrase.month)
    if phrase.past:
        return max(span for span in spans if span[0] <= phrase.today)
    return _pick("", spans, phrase.today)


def _season_of_year(phrase: Phrase) -> Span:
    return _months(int(phrase["year"]), _SEASONS[phrase["season"]], 3)


def _year(phrase: Phrase) -> Span:
    return _months(int(phrase["year"]), 1, 12)


def _named_day(phrase: Phrase) -> Span:
    day = phrase.today + timedelta(days=_DAY_OFFSETS.get(phrase["name"], 0))
    return day, day


def _which_unit(phrase: Phrase) -> Span:
    offset = {"next": 1, "this coming": 1, "this": 0}.get(phrase["which"], -1)
    return _calendar(phrase["unit"], offset, phrase.today)


def _which_weekday(phrase: Phrase) -> Span:
    """Last lies strictly before the anchor, next strictly after, this on or after it."""
    first = _WEEKDAYS.index(phrase["weekday"][:3]) - phrase.today.weekday()
    days = [phrase.today + timedelta(days=first + 7 * week) for week in range(-2, 3)]
    spans = [(day, day) for day in days if phrase["which"] != "this" or day >= phrase.today]
    return _pick(phrase["which"], spans, phrase.today)


def _which_month(phrase: Phrase) -> Span:
    return _pick(phrase["which"], _around(phrase.today, phrase.month), phrase.today)


def _which_season(phrase: Phrase) -> Span:
    return _pick(phrase["which"], _around(phrase.today, _SEASONS[phrase["season"]], 3), phrase.today)


def _unit_before_last(phrase: Phrase) -> Span:
    return _calendar(phrase["unit"], -2, phrase.today)


def _ago(phrase: Phrase) -> Span:
    return _counted(phrase, -1)


def _ahead(phrase: Phrase) -> Span:
    return _counted(phrase, 1)


def _counted(phrase: Phrase, sign: int) -> Span:
    """Days and weeks are counted to the day; a longer unit is known only as a whole."""
    word, unit = phrase["count"], phrase["unit"]
    count = sign * (int(word) if word.isdecimal() else 1 if word in ("a", "an") else _NUMBERS.index(word) + 1)
    if unit not in ("day", "week"):
        return _calendar(unit, count, phrase.today)
    day = phrase.today + timedelta(days=count * (7 if unit == "week" else 1))
    return day, day


def _pattern(phrase: str) -> re.Pattern[str]:
    return re.compile(rf"\b{phrase}\b".replace(" ", r"\s+"), re.IGNORECASE)


# "may" and "march" are everyday words, so as months they need their capital.
_MONTH = (
    r"(?P<month>(?-i:May|MAY|March|MARCH)|january|february|april|june|july|august|september|october|november"
    r"|december|(?:jan|feb|(?-i:Mar)|apr|jun|jul|aug|sept?|oct|nov|dec)\b\.?)"
)
_WEEKDAY = r"(?P<weekday>monday|tues(?:day)?|wed(?:nesday)?|thurs(?:day)?|fri(?:day)?|saturday|sunday)"
_SEASON = rf"(?P<season>{'|'.join(_SEASONS)})"
_UNIT = r"(?P<unit>weekend|week|month|year)"
_COUNTED = rf"(?P<count>\d{{1,4}}|an?|{'|'.join(_NUMBERS)}) (?P<unit>day|weekend|week|month|year)s?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR4 = r"(?P<year>(?:19|20)\d\d)"
# "the last year" and "the next week" are stretches of time, not dates.
_WHICH = r"(?<!the\s)(?P<which>last|this past|this coming|this|next)"
_IN = r"(?:in|since|during|until|till|by|early|late|mid)"
_AT = r"(?:in|since|during|until|till|by|early|late|mid|of|from|around|before|after|between|and|to|year)"
_NAME = (
    r"(?P<name>the day before yesterday|the day after tomorrow|(?<!like\s)yesterday|tomorrow|last night"
    r"|today|tonight|this (?:morning|afternoon|evening))"
)

RULES: tuple[tuple[re.Pattern[str], Callable[[Phrase], Span]], ...] = (
    (_pattern(r"(?P<when>(?P<year>\d{4})([-/])(?P<number>\d\d?)\3(?P<day>\d\d?))"), _iso_day),
    (_pattern(rf"(?P<when>{_YEAR4}-(?P<number>\d\d))(?!-\d)"), _iso_month),
    (_pattern(rf"(?P<when>{_DAY} (?:of )?{_MONTH}(?:,? {_YEAR4})?)"), _day_of_month),
    (_pattern(rf"(?P<when>{_MONTH} (?:the )?{_DAY}(?:,? {_YEAR4})?)"), _day_of_month),
    (_pattern(rf"(?P<when>{_MONTH},? (?:of )?{_YEAR4})"), _month),
    (_pattern(rf"{_IN} (?P<when>{_MONTH}(?P<year>))"), _month),
    (_pattern(rf"(?P<when>{_SEASON}(?: of)? {_YEAR4})"), _season_of_year),
    (_pattern(rf"{_AT} (?P<when>{_YEAR4})(?![-/]\d)"), _year),
    (_pattern(rf"(?P<when>{_NAME})"), _named_day),
    (_pattern(rf"(?P<when>{_WHICH} {_UNIT})"), _which_unit),
    (_pattern(rf"(?P<when>{_WHICH} {_WEEKDAY})"), _which_weekday),
    (_pattern(rf"(?P<when>{_WHICH} (?=(?-i:[A-Z])){_MONTH})"), _which_month),
    (_pattern(rf"(?P<when>{_WHICH} {_SEASON})"), _which_season),
    (_pattern(rf"(?P<when>the {_UNIT} before last)"), _unit_before_last),
    (_pattern(rf"(?P<when>{_COUNTED} ago)"), _ago),
    (_pattern(rf"(?P<when>in {_COUNTED})"), _ahead),
    (_pattern(rf"(?P<when>{_COUNTED} from (?:now|today))"), _ahead),
)
"""Pattern and rule per kind of phrase. Where two phrases overlap, the longer one is meant."""

HINT = re.compile(
    r"\d|day|week|month|year|last|this|next|tomorrow|tonight"
    r"|jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec",
    re.IGNORECASE,
)
"""Some of this is in every phrase; looking for it first spares most texts the seventeen patterns."""
