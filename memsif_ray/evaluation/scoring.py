"""One answer and all its scores as one row."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from memsif_ray.config import JudgingConfig
from memsif_ray.evaluation.abstention import abstains
from memsif_ray.evaluation.metrics import evidence_recall, locomo_score, same_date
from memsif_ray.types import Answer, Gold, Question, Verdict


def verdict_row(
    question: Question,
    gold: Gold,
    answer: Answer,
    *,
    context_ids: Collection[str],
    verdict: Verdict | None,
    method: str,
    run: int,
    profile: str = JudgingConfig().label,
) -> dict[str, Any]:
    """A row of [`VERDICTS`][memsif_ray.schemas.VERDICTS].

    Args:
        question: What was asked.
        gold: Its reference.
        answer: What came back, or why nothing did.
        context_ids: Message ids that the answer's context rests on.
        verdict: The judge's or the rules' verdict; None when nobody graded.
        method: Name of the method that answered.
        run: Number of the run, from 0.
        profile: What the row is called when there is no verdict.
    """
    return {
        "run": run,
        "method": method,
        "question_id": question.question_id,
        "profile": verdict.profile if verdict else profile,
        "outcome": verdict.outcome.value if verdict else None,
        "reason": verdict.reason if verdict else "",
        "f1": locomo_score(answer.text, gold, question.category),
        "evidence_recall": evidence_recall(gold.evidence, context_ids),
        "abstained": abstains(answer.text or ""),
        "date_match": None if gold.abstain else same_date(answer.text or "", gold.answer),
    }
