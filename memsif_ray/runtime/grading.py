"""Grades beside the questions: what is known here never goes back to a method."""

from __future__ import annotations

import asyncio
from typing import Any, NamedTuple

from memsif_ray.errors import ServiceError
from memsif_ray.evaluation.judge import grade
from memsif_ray.evaluation.scoring import verdict_row
from memsif_ray.methods.base import Tools
from memsif_ray.ports import ChatModel
from memsif_ray.runtime.asking import Asked
from memsif_ray.runtime.units import Unit, reason_of
from memsif_ray.types import Gold, Verdict


class Graded(NamedTuple):
    """A row of VERDICTS, and why the judge's service failed, or ""."""

    row: dict[str, Any]
    failure: str


async def graded(asked: Asked, gold: Gold, *, unit: Unit, judge: ChatModel | None, tools: Tools) -> Graded:
    """Grade one answer. No judge, or a service's failure anywhere, leaves the answer ungraded, not wrong."""
    verdict: Verdict | None = None
    failure = ""
    if judge is not None and asked.failure is None:
        scope = tools.scope_of(asked.question.question_id)
        try:
            verdict = await grade(asked.question, gold, asked.answer, judge=judge, scope=scope)
        except ServiceError as exc:
            failure = reason_of(exc)
    row = await asyncio.to_thread(  # the first score loads NLTK, which takes a second or more
        verdict_row,
        asked.question,
        gold,
        asked.answer,
        context_ids=asked.context.message_ids,
        verdict=verdict,
        method=unit.method,
        run=unit.run or 0,
    )
    return Graded(row | {"reason": row["reason"] or failure}, failure)
