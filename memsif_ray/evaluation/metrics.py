"""Scores that need no judge: LoCoMo's token F1, date match, and recall of gold evidence.

A score is None where there is nothing to score against; None is never averaged as zero.
"""

from __future__ import annotations

import re
import string
from collections import Counter
from collections.abc import Callable, Collection, Sequence
from functools import lru_cache
from statistics import fmean
from typing import NamedTuple

from memsif_ray.types import Category, Gold

_ARTICLES = re.compile(r"\b(?:a|an|the|and)\b")
_NO_PUNCTUATION = str.maketrans("", "", string.punctuation)


def tokens(text: str, *, stem: bool = True) -> list[str]:
    """LoCoMo's tokens: lower case, without ASCII punctuation and a/an/the/and, Porter-stemmed.

    Source: `normalize_answer` in snap-research/locomo, task_eval/evaluation.py.
    """
    plain = _ARTICLES.sub(" ", text.lower().translate(_NO_PUNCTUATION)).split()
    return list(map(_stemmer(), plain)) if stem else plain


@lru_cache
def _stemmer() -> Callable[[str], str]:
    # LoCoMo's scores use NLTK's variant. The original Porter stemmer of other packages confuses "one" with
    # "on" and "is" with "i". Imported late: NLTK takes a second, and most commands score nothing.
    from nltk.stem.porter import PorterStemmer

    return lru_cache(maxsize=None)(PorterStemmer().stem)


def token_f1(prediction: str, gold: str, *, stem: bool = True) -> float:
    """Harmonic mean of token precision and recall, as bags of tokens; 0 when none is shared."""
    predicted, wanted = Counter(tokens(prediction, stem=stem)), Counter(tokens(gold, stem=stem))
    shared = (predicted & wanted).total()
    return 2 * shared / (predicted.total() + wanted.total()) if shared else 0.0


def multi_answer_f1(prediction: str, gold: str, *, stem: bool = True) -> float:
    """Mean over comma-separated gold answers of the best F1 that some predicted part reaches."""
    parts = prediction.split(",")
    return fmean(max(token_f1(part, wanted, stem=stem) for part in parts) for wanted in gold.split(","))


def locomo_score(
    prediction: str | None, gold: Gold, category: Category, *, stem: bool = True
) -> float | None:
    """LoCoMo's own score of one answer, by category (`eval_question_answering` in the same file).

    Multi-hop splits at commas; the alternatives after ";" of a knowledge answer are dropped; a question to
    abstain from gives 1 for one of LoCoMo's two phrases. A missing answer scores 0, as an empty one would.

    Returns:
        A value in [0, 1]; None when the question has no reference answer.
    """
    prediction = prediction or ""
    if gold.abstain:
        said = prediction.lower()
        return float("no information available" in said or "not mentioned" in said)
    if not gold.answer.strip():
        return None
    if category is Category.MULTI_HOP:
        return multi_answer_f1(prediction, gold.answer, stem=stem)
    wanted = gold.answer.split(";")[0] if category is Category.KNOWLEDGE else gold.answer
    return token_f1(prediction, wanted, stem=stem)


class CalendarDate(NamedTuple):
    """A date as precise as it was written; `month` and `day` are 0 when not given."""

    year: int
    month: int = 0
    day: int = 0


_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_NAMES = (
    *("january", "february", "march", "april", "may", "june", "july", "august", "september", "october"),
    *("november", "december", "sept"),
)
_MONTH = rf"(?P<month{{n}}>{'|'.join((*_NAMES, *_MONTHS))})\b\.?"
_YEAR = r"(?P<year{n}>(?:19|20)\d\d)"
_DAY = r"(?P<day{n}>[0-3]?\d)(?:st|nd|rd|th)?"
_FORMS = (
    rf"\b{_DAY}\s+(?:of\s+)?{_MONTH},?\s+{_YEAR}\b",
    rf"\b{_MONTH}\s+{_DAY},?\s+{_YEAR}\b",
    rf"\b{_YEAR}[-/.](?P<month{{n}}>0?[1-9]|1[0-2])[-/.](?P<day{{n}}>0?[1-9]|[12]\d|3[01])(?!\d)",
    rf"\b{_MONTH},?\s+{_YEAR}\b",
    rf"\b{_YEAR}\b",
)
_DATE = re.compile("|".join(form.replace("{n}", str(n)) for n, form in enumerate(_FORMS)), re.I)
_FIGURES = re.compile(  # day, month and year in one or another order; a month and its year
    r"\b(?:\d{1,2}[/.-](?:\d{1,2}[/.-](?:\d{4}|\d{2})|(?:19|20)\d\d)|(?:19|20)\d\d[/.-]\d{1,2}(?![/.-]\d))\b"
)
_BARE_DATE = re.compile(rf"\s*(?:on|in)?\s*(?:{_DATE.pattern})[\s.]*", re.I)


def dates(text: str) -> frozenset[CalendarDate]:
    """The calendar dates written in `text`: day, month or year precision, in English or year first."""
    return frozenset(map(_calendar_date, _DATE.finditer(text)))


def _calendar_date(match: re.Match[str]) -> CalendarDate:
    parts = {name[:-1]: value for name, value in match.groupdict().items() if value}
    month = parts.get("month", "0")
    number = int(month) if month.isdigit() else _MONTHS.index(month[:3].lower()) + 1
    return CalendarDate(int(parts["year"]), number, int(parts.get("day", 0)))


def same_date(prediction: str, gold: str) -> bool | None:
    """Whether `prediction` names exactly the gold date and no other.

    None when `gold` is not a bare date, and when `prediction` has one in figures that does not go from year
    to day: 05/07/2023 is in May for some and in July for others, 2022-23 may be a winter.
    """
    if not _BARE_DATE.fullmatch(gold) or _FIGURES.search(prediction):
        return None
    return dates(prediction) == dates(gold)


def evidence_recall(gold_ids: Collection[str], context_ids: Collection[str]) -> float | None:
    """Share of distinct gold messages that the context rests on; None when there is no gold evidence."""
    wanted = set(gold_ids)
    return len(wanted.intersection(context_ids)) / len(wanted) if wanted else None


def recall_at_k(gold_ids: Collection[str], ranked_ids: Sequence[str], *, k: int) -> float | None:
    """Evidence recall of the `k` best-ranked messages; None when there is no gold evidence."""
    return evidence_recall(gold_ids, ranked_ids[:k])
