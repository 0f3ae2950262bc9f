"""Corrections of LoCoMo's reference answers, from an audit file that the user supplies.

A JSON list of records with `question_id` (`locomo_<conversation index>_qa<question index>`), `question`,
`golden_answer`, `correct_answer` and `error_type`, as dial481/locomo-audit publishes it. Records of type
`WRONG_CITATION` find fault with the evidence only: their answers stand.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import NamedTuple

from memsif_ray.datasets.source import Answer, Lenient, Text, read_records, validated
from memsif_ray.errors import DataError
from memsif_ray.types import Category, Gold, Question

_ANSWER_STANDS = "WRONG_CITATION"
_ID = re.compile(r"locomo_\d+_qa(\d+)")


class _Record(Lenient):
    question_id: Text
    question: Text
    golden_answer: Answer
    correct_answer: Answer
    error_type: Text


class _Place(NamedTuple):
    """Names a question in any selection of conversations, whatever they are called."""

    number: int
    question: str
    answer: str


@dataclass(frozen=True, slots=True)
class Audit:
    """Answers that replace released ones."""

    answers: Mapping[_Place, str]

    def corrected(self, question: Question, gold: Gold) -> Gold:
        """The reference with its answer replaced, or the very same object when the answer stands."""
        answer = self.answers.get(_Place(question.index, question.text, gold.answer))
        return gold if answer is None else replace(gold, answer=answer)

    def ceiling(self, questions: Iterable[tuple[Question, Gold]]) -> Ceiling:
        """How well the released answers themselves would score, adversarial questions left out."""
        asked = [(q, gold) for q, gold in questions if q.category is not Category.ADVERSARIAL]
        return Ceiling(len(asked), sum(self.corrected(q, gold) is not gold for q, gold in asked))


class Ceiling(NamedTuple):
    """Questions, and how many of their released answers are wrong by the audit."""

    questions: int
    wrong: int

    @property
    def released(self) -> float | None:
        """Share of questions on which somebody who is always right agrees with the released answer."""
        return 1 - self.wrong / self.questions if self.questions else None


def read_audit(path: Path) -> Audit:
    """The corrections in a file.

    Raises:
        ConfigError: When there is no such file.
        DataError: Naming the record that is not an audit's, or that corrects a question a second time.
    """
    answers: dict[_Place, str] = {}
    for number, raw in enumerate(read_records(path)):
        where = f"{path.name}, record {number}"
        record = validated(_Record, raw, where)
        found = _ID.fullmatch(record.question_id)
        if found is None:
            raise DataError(f"{where}: question_id {record.question_id!r} is not like 'locomo_0_qa12'")
        place = _Place(int(found[1]), record.question.strip(), record.golden_answer)
        if place in answers:
            raise DataError(f"{where}: {record.question_id} is corrected twice")
        if record.error_type != _ANSWER_STANDS:
            answers[place] = record.correct_answer
    return Audit(answers)
