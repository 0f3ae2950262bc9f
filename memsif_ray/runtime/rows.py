"""What asking found out, as tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import pyarrow as pa

from memsif_ray.methods.base import Tables
from memsif_ray.ports import TokenCounter
from memsif_ray.runtime.asking import Asked
from memsif_ray.runtime.grading import Graded
from memsif_ray.runtime.units import DONE, INCOMPLETE, Unit
from memsif_ray.schemas import ANSWERS, PACKINGS, RETRIEVALS, VERDICTS
from memsif_ray.storage.memories import encode_memory
from memsif_ray.storage.tables import encode
from memsif_ray.types import Gold


@dataclass(frozen=True, slots=True)
class Session:
    """All questions of one unit in the order they were asked, each with its grade.

    Attributes:
        learned: What the memory holds more than before the first question.
    """

    asked: Sequence[Asked]
    grades: Sequence[Graded]
    learned: Tables

    def outcome(self) -> dict[str, Any]:
        """What the unit's record says of it."""
        pairs = zip(self.asked, self.grades, strict=True)
        failures = [
            one.answer.error or grade.failure
            for one, grade in pairs
            if one.failure is not None or grade.failure
        ]
        if not failures:
            return {"status": DONE}
        return {"status": INCOMPLETE, "failed": len(failures), "reason": failures[0]}

    def tables(
        self, unit: Unit, *, gold: Mapping[str, Gold], tokens: TokenCounter
    ) -> dict[str, list[pa.Table]]:
        """One part per table, rows in the order of asking."""
        scope: dict[str, Any] = {
            "method": unit.method,
            "conversation_id": unit.conversation_id,
            "run": unit.run,
        }
        decisions = [decision for one in self.asked for decision in one.context.decisions]
        learned = {**self.learned, "decisions": [*decisions, *self.learned.get("decisions", ())]}
        answers = [_answer(one, gold[one.question.question_id], tokens) for one in self.asked]
        return {
            "answers": [encode(answers, ANSWERS, **scope)],
            "retrievals": [encode(_retrievals(self.asked), RETRIEVALS, **scope)],
            "packings": [encode([one.packing for one in self.asked if one.packing], PACKINGS, **scope)],
            "verdicts": [encode([grade.row for grade in self.grades], VERDICTS)],
            **encode_memory(learned, **scope),
        }


def _answer(asked: Asked, gold: Gold, tokens: TokenCounter) -> dict[str, Any]:
    question, context = asked.question, asked.context
    return {
        "question_id": question.question_id,
        "question_index": question.index,
        "order": asked.order,
        "category": question.category,
        "question": question.text,
        "answer": asked.answer.text,
        "error": asked.answer.error,
        "gold_answer": gold.answer,
        "gold_evidence": gold.evidence,
        "context": context.text,
        "context_tokens": tokens.count(context.text),
        "context_items": len(context.items),
        "context_message_ids": context.message_ids,
        "retrieved_ids": context.retrieved_ids,
        "seconds": asked.seconds,
    }


def _retrievals(asked: Sequence[Asked]) -> list[dict[str, Any]]:
    return [
        {"question_id": one.question.question_id, "rank": rank, **asdict(item)}
        for one in asked
        for rank, item in enumerate(one.context.items)
    ]
