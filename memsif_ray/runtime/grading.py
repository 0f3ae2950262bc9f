"""Grades beside the questions: what is known here never goes back to a method."""

from __future__ import annotations

import asyncio
from collections.abc import Collection
from typing import Any, NamedTuple

from memsif_ray.config import JudgingConfig
from memsif_ray.errors import ServiceBusy, ServiceError
from memsif_ray.evaluation.judge import grade
from memsif_ray.evaluation.scoring import verdict_row
from memsif_ray.methods.base import Tools
from memsif_ray.ports import ChatModel
from memsif_ray.runtime.asking import Asked
from memsif_ray.runtime.units import reason_of
from memsif_ray.types import Answer, CallScope, Gold, Question, Verdict


class Graded(NamedTuple):
    """A row of VERDICTS, and why the judge's service failed, or ""."""

    row: dict[str, Any]
    failure: str = ""
    busy: bool = False
    """The service was there no more, as opposed to refusing this answer."""


async def graded(
    asked: Asked, gold: Gold, *, judge: ChatModel | None, tools: Tools, judging: JudgingConfig
) -> Graded:
    """Grade what was just answered. Without a judge, or without an answer to be had, it stays ungraded.

    An answer counts though its method failed to learn from the question afterwards.
    """
    lost = asked.failure is not None and asked.answer.text is None
    return await graded_answer(
        asked.question,
        gold,
        asked.answer,
        context_ids=asked.context.message_ids,
        judge=None if lost else judge,
        scope=tools.scope_of(asked.question.question_id),
        judging=judging,
    )


async def graded_answer(
    question: Question,
    gold: Gold,
    answer: Answer,
    *,
    context_ids: Collection[str],
    judge: ChatModel | None,
    scope: CallScope,
    judging: JudgingConfig,
) -> Graded:
    """Grade one answer. No judge, or a failure of its service, leaves the answer ungraded, not wrong."""
    verdict: Verdict | None = None
    failure: ServiceError | None = None
    if judge is not None:
        try:
            verdict = await grade(question, gold, answer, judge=judge, scope=scope, judging=judging)
        except ServiceError as exc:
            failure = exc
    row = await asyncio.to_thread(  # the first score loads NLTK, which takes a second or more
        verdict_row,
        question,
        gold,
        answer,
        context_ids=context_ids,
        verdict=verdict,
        method=scope.method,
        run=scope.run,
        profile=judging.label,
    )
    reason = reason_of(failure) if failure else ""
    return Graded(row | {"reason": row["reason"] or reason}, reason, isinstance(failure, ServiceBusy))
