"""Answers and how they were graded."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


@dataclass(frozen=True, slots=True)
class Answer:
    """A generated answer, or the named reason why there is none."""

    question_id: str
    text: str | None
    error: str = ""


class Outcome(StrEnum):
    """What a judge said. `INVALID` is unscored: neither right nor wrong."""

    RIGHT = "right"
    WRONG = "wrong"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One grading of one answer."""

    question_id: str
    outcome: Outcome
    profile: str
    reason: str = ""
