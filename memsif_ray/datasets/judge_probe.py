"""Answers to measure a grader with: some wrong on purpose, all graded before by a hosted judge.

One JSON object a line: `source` (the kind of answer), `question_id` (`locomo_<conversation>_qa<n>`),
`category` (LoCoMo's number), `question`, `gold`, `answer`, and `verdicts` (the votes of the hosted judge).
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from memsif_ray.datasets.locomo import CATEGORIES
from memsif_ray.datasets.source import Answer, Lenient, Text, validated
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.types import Gold, Question

WRONG_ON_PURPOSE = ("specific_wrong", "vague_wrong")
"""Kinds of which every accepted answer is a mistake of the grader."""
_ID = re.compile(r"(.+)_qa(\d+)")


class _Record(Lenient):
    source: Text
    question_id: Text
    category: Literal[1, 2, 3, 4, 5]
    question: Text
    gold: Answer
    answer: Text
    verdicts: tuple[bool, ...]


@dataclass(frozen=True, slots=True)
class ProbeAnswer:
    """One answer to be graded, with the votes of the judge that graded it before."""

    kind: str
    question: Question
    gold: Gold
    answer: str
    votes: tuple[bool, ...]


def read_probe(path: Path, *, limit: int | None = None) -> list[ProbeAnswer]:
    """The answers in a file; with `limit` at most so many of each kind, spread evenly over the file.

    Raises:
        ConfigError: When there is no such file.
        DataError: When it is not UTF-8; else naming the line that is no probe answer, or that repeats one.
    """
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except OSError as exc:
        raise ConfigError(f"cannot read probe answers {path}: {exc}") from exc
    except UnicodeDecodeError as exc:
        raise DataError(f"{path}: not UTF-8; save it as UTF-8") from exc
    by_kind: defaultdict[str, dict[str, ProbeAnswer]] = defaultdict(dict)
    for number, line in enumerate(lines, start=1):
        where = f"{path.name}, line {number}"
        answer = _parsed(line, where)
        known = by_kind[answer.kind]
        if answer.gold.question_id in known:
            raise DataError(f"{where}: {answer.kind} answers {answer.gold.question_id} twice")
        known[answer.gold.question_id] = answer
    return [answer for known in by_kind.values() for answer in _spread(known.values(), limit)]


def _parsed(line: str, where: str) -> ProbeAnswer:
    try:
        raw = json.loads(line)
    except ValueError as exc:
        raise DataError(f"{where}: not JSON: {exc}") from exc
    record = validated(_Record, raw, where)
    found = _ID.fullmatch(record.question_id)
    if found is None:
        raise DataError(f"{where}: question_id {record.question_id!r} is not like 'locomo_0_qa12'")
    category = CATEGORIES[record.category]
    question = Question(record.question_id, found[1], int(found[2]), record.question.strip(), category)
    gold = Gold(record.question_id, record.gold)
    return ProbeAnswer(record.source, question, gold, record.answer, record.verdicts)


def _spread(answers: Iterable[ProbeAnswer], limit: int | None) -> list[ProbeAnswer]:
    every = list(answers)
    if limit is None or limit >= len(every):
        return every
    return [every[n * len(every) // limit] for n in range(limit)]
