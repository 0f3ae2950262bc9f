"""Grades answers with three outcomes: right, wrong, and invalid when the judge cannot be understood."""

from __future__ import annotations

import re

from memsif_ray.errors import ReplyInvalid
from memsif_ray.evaluation.abstention import abstains
from memsif_ray.ports import ChatModel
from memsif_ray.prompts import load
from memsif_ray.prompts.asking import ATTEMPTS
from memsif_ray.prompts.replies import parse_reply
from memsif_ray.text import is_blank
from memsif_ray.types import Answer, CallScope, ChatReply, Gold, Outcome, Question, Verdict

PROFILE = "memsif"
"""The judge of MemSIF, Appendix I. A verdict names its profile, since two profiles are not comparable."""
_MAX_TOKENS = 256
_RETRY_TEMPERATURE = 0.3

_RIGHT = frozenset({"correct", "right", "true"})
_WRONG = frozenset({"incorrect", "wrong", "false"})
_ANY_LABEL = {"type": "object", "properties": {"label": {}}, "required": ["label"]}
_BARE_WORD = re.compile(r"[\W_]*(\w+)[\W_]*")


def parse_verdict(content: str | None) -> Outcome:
    """What a judge's reply says: one JSON object with a `label`, or one bare word.

    The label must be the whole value: "incorrect" contains "correct", and "not correct" is no label.
    Whatever cannot be read is INVALID, which is neither right nor wrong.
    """
    reply = ChatReply(content=content, finish_reason="stop", model="")
    try:
        label = str(parse_reply(reply, _ANY_LABEL)["label"])
    except ReplyInvalid as exc:
        if exc.reason != "not_json":
            return Outcome.INVALID
        word = _BARE_WORD.fullmatch(parse_reply(reply, None))
        label = word[1] if word else ""
    return _outcome(label.strip().casefold())


def _outcome(label: str) -> Outcome:
    if label in _RIGHT:
        return Outcome.RIGHT
    return Outcome.WRONG if label in _WRONG else Outcome.INVALID


def grade_by_rule(question: Question, gold: Gold, answer: Answer) -> Verdict | None:
    """The verdict that needs no judge, or None when one has to decide.

    A missing or blank answer is wrong. A question to abstain from is right if and only if the answer
    abstains. An answer that only repeats the trap is wrong.
    """
    if answer.text is None or is_blank(answer.text):
        return Verdict(question.question_id, Outcome.WRONG, PROFILE, answer.error or "no answer")
    if gold.abstain:
        abstained = abstains(answer.text)
        outcome = Outcome.RIGHT if abstained else Outcome.WRONG
        return Verdict(question.question_id, outcome, PROFILE, "abstained" if abstained else "made a claim")
    if gold.trap is not None and _same_words(answer.text, gold.trap):
        return Verdict(question.question_id, Outcome.WRONG, PROFILE, "gave the trap")
    return None


async def grade(
    question: Question, gold: Gold, answer: Answer, *, judge: ChatModel, scope: CallScope
) -> Verdict:
    """Grade one answer: by rule where that is possible, else by the judge.

    Raises:
        ServiceError: When the judge's endpoint failed.
    """
    verdict = grade_by_rule(question, gold, answer)
    if verdict is not None:
        return verdict
    return await _ask_judge(question, gold, answer, judge=judge, scope=scope)


def _same_words(text: str, other: str) -> bool:
    return re.findall(r"\w+", text.casefold()) == re.findall(r"\w+", other.casefold())


async def _ask_judge(
    question: Question, gold: Gold, answer: Answer, *, judge: ChatModel, scope: CallScope
) -> Verdict:
    content: str | None = None
    for attempt in range(ATTEMPTS):
        request = load("judge_memsif").request(
            stage="judge",
            scope=scope,
            max_tokens=_MAX_TOKENS,
            temperature=_RETRY_TEMPERATURE if attempt else 0.0,  # asked alike, a greedy judge replies alike
            seed=attempt,
            attempt=attempt,
            question=question.text,
            reference=gold.answer,
            candidate=answer.text,
        )
        content = (await judge.complete(request)).content
        outcome = parse_verdict(content)
        if outcome is not Outcome.INVALID:
            return Verdict(question.question_id, outcome, PROFILE)
    return Verdict(question.question_id, Outcome.INVALID, PROFILE, f"unreadable: {(content or '')[-80:]!r}")
