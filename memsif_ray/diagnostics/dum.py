"""Everything that is found about Delayed Utility Manifestation, for whoever reports it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from memsif_ray.diagnostics.compaction import CompactedAnswer, Recovery
from memsif_ray.diagnostics.loss import (
    Grades,
    LossPoint,
    Mode,
    aggregate_correlation,
    drop,
    grades,
    question_correlation,
)
from memsif_ray.diagnostics.lshu import (
    EvidenceScore,
    categories,
    pair_rate,
    question_rate,
    score_counts,
    subset,
)
from memsif_ray.types import Category


@dataclass(frozen=True, slots=True)
class DumFindings:
    """Scores of evidence, and what compaction loses of a sample of it.

    Attributes:
        questions: Category of each question that was looked at, also of those without evidence.
        scores: One per pair of question and evidence.
        sample: Questions that compaction is measured on.
        recoveries: One per memory and fact of the sample.
        answers: One per memory and question of the sample.
        points: One per mode, memory and question of the sample.
    """

    questions: Mapping[str, Category]
    scores: Sequence[EvidenceScore]
    sample: Sequence[str]
    recoveries: Sequence[Recovery]
    answers: Sequence[CompactedAnswer]
    points: Sequence[LossPoint]


def summary(found: DumFindings) -> dict[str, Any]:
    """All numbers of the paper's Tables 5 and 8 to 10 and of Figure 8, as plain data."""
    rates = {"pairs": pair_rate(found.scores), "questions": question_rate(found.scores)}
    return {
        "questions": len(found.questions),
        "scores": [asdict(one) for one in score_counts(found.scores)],
        "lshur": {name: {**asdict(one), "rate": asdict(one.share)} for name, one in rates.items()},
        "lshu": categories(subset(found.scores)),
        "sample": len(found.sample),
        "cdl": [_losses(one) for one in grades(found.recoveries)],
        "qad": [_drops(one, found.answers) for one in grades(found.answers)],
        "correlation": {
            mode.value: {
                "memories": asdict(aggregate_correlation(found.recoveries, found.answers, mode)),
                "questions": asdict(question_correlation(found.points, mode)),
            }
            for mode in Mode
        },
    }


def _losses(one: Grades) -> dict[str, Any]:
    return {**asdict(one), **{mode.value: asdict(one.loss(mode)) for mode in Mode}}


def _drops(one: Grades, answers: Sequence[CompactedAnswer]) -> dict[str, Any]:
    accuracy = {f"accuracy_{mode.value}": asdict(one.share(mode)) for mode in Mode}
    if one.capacity is None:
        return {**asdict(one), **accuracy}
    drops = {mode.value: asdict(drop(answers, one.capacity, mode)) for mode in Mode}
    return {**asdict(one), **accuracy, **drops}
