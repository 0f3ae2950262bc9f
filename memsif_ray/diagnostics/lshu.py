"""Evidence that seemed not worth keeping and is needed later (MemSIF, Appendix A.5, Eq. 6, 12 and 13).

A score that is missing makes its pair undecided only where the pair's place depends on it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from memsif_ray.diagnostics.measured import Measured
from memsif_ray.types import Category

TAU_SALIENCE = 2
"""Salience up to it is low."""
TAU_UTILITY = 3
"""Utility from it on is critical."""


@dataclass(frozen=True, slots=True)
class EvidenceScore:
    """A question and one utterance of its evidence.

    A row of [`EVIDENCE_SCORES`][memsif_ray.schemas.EVIDENCE_SCORES].

    Attributes:
        salience: S(e), the same for every question about the utterance; None when it is missing.
        salience_reason: Then, why.
        utility: U(e, q); None when it is missing.
        utility_reason: Then, why.
    """

    conversation_id: str
    question_id: str
    category: Category
    message_id: str
    salience: int | None
    salience_reason: str
    utility: int | None
    utility_reason: str

    @property
    def critical(self) -> bool | None:
        """Whether the question needs it; None when that is not known."""
        return None if self.utility is None else self.utility >= TAU_UTILITY

    @property
    def delayed(self) -> bool | None:
        """Whether the question needs what seemed not worth keeping; None when that is not known."""
        low = None if self.salience is None else self.salience <= TAU_SALIENCE
        if False in (low, self.critical):
            return False
        return None if None in (low, self.critical) else True


@dataclass(frozen=True, slots=True)
class Rate:
    """A share of what could be decided.

    Attributes:
        hits: Of low salience among them.
        of: Pairs or questions that are critical and decided.
        missing: Those that a missing score leaves undecided; in neither number.
    """

    hits: int
    of: int
    missing: int

    @property
    def share(self) -> Measured:
        """`hits / of`; without anything critical, `nothing_critical`."""
        return Measured(self.hits / self.of) if self.of else Measured(None, "nothing_critical")


def pair_rate(scores: Iterable[EvidenceScore]) -> Rate:
    """LSHUR over pairs of evidence and question (Eq. 12)."""
    return _rate((score.critical, score.delayed) for score in scores)


def question_rate(scores: Iterable[EvidenceScore]) -> Rate:
    """LSHUR over questions with at least one critical utterance (Eq. 13)."""
    return _rate(
        (_any(score.critical for score in rows), _any(score.delayed for score in rows))
        for rows in by_question(scores).values()
    )


def subset(scores: Iterable[EvidenceScore]) -> dict[str, Category]:
    """Questions known to have evidence of low salience and high utility, with category (Eq. 6)."""
    return {
        name: rows[0].category
        for name, rows in by_question(scores).items()
        if any(score.delayed for score in rows)
    }


def categories(questions: Mapping[str, Category]) -> dict[Category, int]:
    """How many questions of each scored category there are, in the order of `Category`."""
    counts = Counter(questions.values())
    return {one: counts[one] for one in Category if one is not Category.ADVERSARIAL}


def by_question(scores: Iterable[EvidenceScore]) -> dict[str, list[EvidenceScore]]:
    """Scores of each question, in their order."""
    rows: dict[str, list[EvidenceScore]] = {}
    for score in scores:
        rows.setdefault(score.question_id, []).append(score)
    return rows


@dataclass(frozen=True, slots=True)
class Missing:
    """How many scores there are of one kind, and why the others are missing.

    Attributes:
        kind: `salience` or `utility`.
        levels: How many have the value 1, 2 and 3.
        reasons: How many are missing, by reason.
    """

    kind: str
    levels: tuple[int, int, int]
    reasons: Mapping[str, int]


def score_counts(scores: Sequence[EvidenceScore]) -> tuple[Missing, Missing]:
    """Salience of distinct utterances, and utility of pairs."""
    utterances = {(score.conversation_id, score.message_id): score for score in scores}
    return (
        _counts("salience", [(s.salience, s.salience_reason) for s in utterances.values()]),
        _counts("utility", [(s.utility, s.utility_reason) for s in scores]),
    )


def _counts(kind: str, scores: Sequence[tuple[int | None, str]]) -> Missing:
    values = [value for value, _ in scores]
    levels = (values.count(1), values.count(2), values.count(3))
    return Missing(kind, levels, dict(Counter(reason for value, reason in scores if value is None)))


def _rate(cases: Iterable[tuple[bool | None, bool | None]]) -> Rate:
    """Of (critical, delayed). What is delayed is critical, too."""
    hits = of = missing = 0
    for critical, delayed in cases:
        undecided = critical is None or (critical and delayed is None)
        missing += undecided
        of += bool(critical) and not undecided
        hits += bool(delayed)
    return Rate(hits, of, missing)


def _any(values: Iterable[bool | None]) -> bool | None:
    """Whether one is true; None when none is known to be, and some are not known."""
    known = list(values)
    return True if True in known else None if None in known else False
