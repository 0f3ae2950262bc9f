"""Grades answers with three outcomes: right, wrong, and invalid when the judge cannot be understood."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from memsif_ray.config import JudgingConfig
from memsif_ray.errors import ReplyInvalid
from memsif_ray.evaluation.abstention import abstains
from memsif_ray.evaluation.agreement import majority
from memsif_ray.evaluation.profiles import PROFILES
from memsif_ray.ports import ChatModel
from memsif_ray.prompts.asking import ATTEMPTS, ask
from memsif_ray.text import is_blank
from memsif_ray.types import Answer, CallScope, Gold, Outcome, Question, Verdict

STAGE = "judge"
_MAX_TOKENS = 256
_VOTE_TEMPERATURE = 0.3
"""Of several votes: a greedy judge would say the same every time."""
_BY_DEFAULT = JudgingConfig()


def grade_by_rule(
    question: Question, gold: Gold, answer: Answer, judging: JudgingConfig = _BY_DEFAULT
) -> Verdict | None:
    """The verdict that needs no judge, or None when one has to decide.

    A missing or blank answer is wrong. A question to abstain from is right if and only if the answer
    abstains, unless the profile has a rubric for it. An answer that only repeats the trap is wrong.
    """
    outcome, reason = Outcome.WRONG, ""
    if answer.text is None or is_blank(answer.text):
        reason = answer.error or "no answer"
    elif gold.abstain and PROFILES[judging.profile].abstention is None:
        abstained = abstains(answer.text)
        outcome = Outcome.RIGHT if abstained else Outcome.WRONG
        reason = "abstained" if abstained else "made a claim"
    elif gold.trap is not None and _same_words(answer.text, gold.trap):
        reason = "gave the trap"
    return Verdict(question.question_id, outcome, judging.label, reason) if reason else None


async def grade(
    question: Question,
    gold: Gold,
    answer: Answer,
    *,
    judge: ChatModel,
    scope: CallScope,
    judging: JudgingConfig = _BY_DEFAULT,
) -> Verdict:
    """Grade one answer: by rule where that is possible, else by the majority of the judge's votes.

    Raises:
        ServiceError: When the judge's endpoint failed.
    """
    verdict = grade_by_rule(question, gold, answer, judging)
    if verdict is not None:
        return verdict
    shown = {
        "question": question.text,
        "reference": gold.explanation if gold.abstain else gold.answer,
        "candidate": answer.text,
    }
    votes = [
        await _vote(number, gold, shown, judge=judge, scope=scope, judging=judging)
        for number in range(judging.votes)
    ]
    outcome = majority([vote.outcome for vote in votes])
    return Verdict(question.question_id, outcome, judging.label, _reason(votes))


class _Vote(NamedTuple):
    outcome: Outcome
    reason: str = ""


async def _vote(
    number: int,
    gold: Gold,
    shown: Mapping[str, Any],
    *,
    judge: ChatModel,
    scope: CallScope,
    judging: JudgingConfig,
) -> _Vote:
    profile = PROFILES[judging.profile]
    try:
        outcome = await ask(
            judge,
            profile.prompt_for(gold),
            stage=STAGE,
            scope=scope,
            max_tokens=_MAX_TOKENS,
            temperature=0.0 if judging.votes == 1 else _VOTE_TEMPERATURE,
            seed=number * ATTEMPTS,  # a retry adds one: no two calls share a seed
            parse=profile.read,
            **shown,
        )
    except ReplyInvalid as exc:
        return _Vote(Outcome.INVALID, f"unreadable: {exc}")
    return _Vote(outcome)


def _reason(votes: Sequence[_Vote]) -> str:
    if len(votes) == 1:
        return votes[0].reason
    counts = Counter(vote.outcome for vote in votes)
    return ", ".join(f"{counts[side]} {side.value}" for side in Outcome if counts[side])


def _same_words(text: str, other: str) -> bool:
    return re.findall(r"\w+", text.casefold()) == re.findall(r"\w+", other.casefold())
