"""Do the retrieved facts cover the question? By an LLM, or by counting what the question needs (3.5)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.terms import content_words, stems
from memsif_ray.ports import ChatModel
from memsif_ray.prompts.asking import ask
from memsif_ray.types import CallScope, Decision, Question

COVERAGE = 0.9
"""Share of a question's content words that one fact must say to be taken as sufficient by the rule."""

_NUMBER = r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|once|twice)\b"
_NEEDS: tuple[tuple[re.Pattern[str], re.Pattern[str]], ...] = (
    (re.compile(r"^\s*(?:when|(?:what|which) (?:date|day|month|year))\b", re.I), re.compile(r"\d{4}")),
    (re.compile(r"\bhow (?:many|much|old|long|often)\b", re.I), re.compile(_NUMBER, re.I)),
)
"""What a question asks for, and what a fact must hold to give it."""
_LIST = re.compile(r"\b(?:what|which) (?:\w+ ){0,2}\w+s\b.*\b(?:has|have|did|do|does|are|were)\b", re.I)


async def sufficient_by_model(
    question: Question, lines: Sequence[str], *, chat: ChatModel, scope: CallScope
) -> Decision:
    """Ask an LLM; an unreadable reply counts as insufficient, so evidence is looked for.

    Raises:
        ServiceError: When the endpoint failed.
    """
    if not lines:
        return _ruling(question, False, "rule", 0.0, "no facts")
    try:
        reply = await ask(
            chat,
            "sufficiency",
            stage="sufficiency",
            scope=scope,
            max_tokens=20,
            facts=lines,
            question=question.text,
        )
    except ReplyInvalid as exc:
        return _ruling(question, False, "fallback", None, str(exc))
    return _ruling(question, reply["sufficient"], "llm", None, "")


def sufficient_by_rule(question: Question, lines: Sequence[str]) -> Decision:
    """Model-free counterpart: one fact must say most of the question's words and hold what it asks for.

    Questions that ask for several things ("which countries has she visited?") are never covered by one
    fact, so they always go on to the interaction memory.
    """
    asked = set(stems(content_words(question.text)))
    if not lines or not asked or _LIST.search(question.text):
        return _ruling(question, False, "rule", 0.0, "list question" if asked and lines else "no facts")
    coverage = max(_coverage(asked, question.text, line) for line in lines)
    return _ruling(question, coverage >= COVERAGE, "rule", coverage, "")


def _coverage(asked: set[str], question: str, line: str) -> float:
    if any(need.search(question) and not given.search(line) for need, given in _NEEDS):
        return 0.0
    return len(asked & set(stems(content_words(line)))) / len(asked)


def _ruling(question: Question, sufficient: bool, by: str, score: float | None, detail: str) -> Decision:
    outcome = "sufficient" if sufficient else "insufficient"
    return Decision("sufficiency", question.question_id, outcome, by, score, detail)
