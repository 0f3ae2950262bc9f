"""Compaction Detail Loss, Query Answerability Drop, and how the two go together (MemSIF, Appendix A.5)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import StatisticsError, correlation, fmean

from memsif_ray.diagnostics.compaction import CAPACITIES, CompactedAnswer, Recovery
from memsif_ray.diagnostics.measured import Measured
from memsif_ray.types import Category

WHOLE = frozenset({"FULL", "CORRECT"})
PART = frozenset({"PARTIAL"})
_FEWEST = 3
"""Points for a correlation: two are always on a line."""


class Mode(StrEnum):
    """What a partial recovery or a partly correct answer counts."""

    STRICT = "strict"
    """Nothing."""
    LENIENT = "lenient"
    """One half."""

    def worth(self, label: str) -> float:
        """0, 0.5 or 1 for a label of either judge."""
        if label in WHOLE:
            return 1.0
        return 0.5 if self is Mode.LENIENT and label in PART else 0.0


@dataclass(frozen=True, slots=True)
class Grades:
    """All labels of one memory: a row of the paper's Tables 9 and 10.

    Attributes:
        capacity: As in `Recovery`.
        whole: Fully recoverable facts, or correct answers.
        part: Partially so.
        nothing: Not at all.
        missing: Those without a label, in no other number.
    """

    capacity: int | None
    whole: int
    part: int
    nothing: int
    missing: int

    def share(self, mode: Mode) -> Measured:
        """Detail Recovery Rate, or accuracy; without a label, `nothing_judged`."""
        judged = self.whole + self.part + self.nothing
        if not judged:
            return Measured(None, "nothing_judged")
        return Measured((self.whole + (self.part / 2 if mode is Mode.LENIENT else 0)) / judged)

    def loss(self, mode: Mode) -> Measured:
        """`1 - share`: CDL, of facts."""
        share = self.share(mode)
        return share if share.value is None else Measured(1 - share.value)


@dataclass(frozen=True, slots=True)
class Drop:
    """QAD of one memory: how much accuracy falls from the raw evidence to it.

    Attributes:
        value: Over the questions whose answers from both have a label; None without any.
        questions: How many these are.
        missing: How many others there are.
    """

    value: Measured
    questions: int
    missing: int


@dataclass(frozen=True, slots=True)
class LossPoint:
    """One question and one memory: a row of [`COMPACTION_LOSSES`][memsif_ray.schemas.COMPACTION_LOSSES].

    Attributes:
        capacity: Utterances that the memory keeps.
        mode: What a part counts.
        cdl: 1 - DRR over the question's facts, in [0, 1]; None when a fact has no label.
        qad: Worth of the answer from the raw evidence less that from the memory, in [-1, 1]; None when
            one of the two has no label.
        reason: What is missing: `facts`, `answers` or `facts, answers`; "" when nothing is.
    """

    conversation_id: str
    question_id: str
    category: Category
    capacity: int
    mode: Mode
    cdl: float | None
    qad: float | None
    reason: str


@dataclass(frozen=True, slots=True)
class Correlation:
    """Pearson's r of CDL and QAD.

    Attributes:
        r: None when it is undefined: `too_few` (under three points) or `constant` (one of the two).
        points: How many have both.
        missing: How many others there are.
    """

    r: Measured
    points: int
    missing: int


def grades(rows: Sequence[Recovery | CompactedAnswer]) -> list[Grades]:
    """Labels of each memory, the raw evidence first."""
    return [
        _grades(capacity, [row.label for row in rows if row.capacity == capacity]) for capacity in CAPACITIES
    ]


def drop(answers: Sequence[CompactedAnswer], capacity: int, mode: Mode) -> Drop:
    """QAD over questions. Like the paper's difference of accuracies, but over the same questions."""
    raw = {row.question_id: row.label for row in answers if row.capacity is None}
    rows = [row for row in answers if row.capacity == capacity]
    pairs = [(raw.get(row.question_id), row.label) for row in rows]
    drops = [mode.worth(one) - mode.worth(other) for one, other in pairs if one and other]
    value = Measured(fmean(drops)) if drops else Measured(None, "nothing_judged")
    return Drop(value, len(drops), len(rows) - len(drops))


def loss_points(recoveries: Iterable[Recovery], answers: Sequence[CompactedAnswer]) -> list[LossPoint]:
    """One point per mode, question and memory, as in Figure 8."""
    facts: dict[tuple[str, int | None], list[str | None]] = {}
    for row in recoveries:
        facts.setdefault((row.question_id, row.capacity), []).append(row.label)
    raw = {row.question_id: row.label for row in answers if row.capacity is None}
    return [
        _point(row, row.capacity, mode, facts[row.question_id, row.capacity], raw.get(row.question_id))
        for mode in Mode
        for row in answers
        if row.capacity is not None
    ]


def question_correlation(points: Sequence[LossPoint], mode: Mode) -> Correlation:
    """Over all questions and memories (Figure 8)."""
    return pearson([(point.cdl, point.qad) for point in points if point.mode is mode])


def aggregate_correlation(
    recoveries: Sequence[Recovery], answers: Sequence[CompactedAnswer], mode: Mode
) -> Correlation:
    """Over the memories, each with its CDL over facts and its QAD over questions."""
    found = {one.capacity: one.loss(mode).value for one in grades(recoveries)}
    return pearson([(found[c], drop(answers, c, mode).value.value) for c in CAPACITIES if c is not None])


def pearson(pairs: Sequence[tuple[float | None, float | None]]) -> Correlation:
    """Pearson's r over the pairs of which both are there."""
    known = [(x, y) for x, y in pairs if x is not None and y is not None]
    missing = len(pairs) - len(known)
    if len(known) < _FEWEST:
        return Correlation(Measured(None, "too_few"), len(known), missing)
    try:
        r = correlation([x for x, _ in known], [y for _, y in known])
    except StatisticsError:  # the same number throughout
        return Correlation(Measured(None, "constant"), len(known), missing)
    return Correlation(Measured(r), len(known), missing)


def _grades(capacity: int | None, labels: Sequence[str | None]) -> Grades:
    counts = Counter(
        "whole" if one in WHOLE else "part" if one in PART else one and "nothing" for one in labels
    )
    return Grades(capacity, counts["whole"], counts["part"], counts["nothing"], counts[None])


def _point(
    row: CompactedAnswer, capacity: int, mode: Mode, facts: Sequence[str | None], raw: str | None
) -> LossPoint:
    known = [mode.worth(label) for label in facts if label]
    cdl = 1 - fmean(known) if len(known) == len(facts) > 0 else None
    qad = mode.worth(raw) - mode.worth(row.label) if raw and row.label else None
    lacking = [name for name, value in (("facts", cdl), ("answers", qad)) if value is None]
    return LossPoint(
        row.conversation_id,
        row.question_id,
        row.category,
        capacity,
        mode,
        cdl,
        qad,
        ", ".join(lacking),
    )
