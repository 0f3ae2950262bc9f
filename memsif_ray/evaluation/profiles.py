"""Judge profiles: which prompt a judge gets, and how its reply is read.

A verdict names its profile, because verdicts of two profiles are not comparable: one released set of answers
gets 91 % or 35 % depending on the judge's prompt.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from memsif_ray.config import JudgeProfile
from memsif_ray.errors import ReplyInvalid
from memsif_ray.prompts.replies import parse_reply
from memsif_ray.types import ChatReply, Gold, Outcome

AUDITED = "@audited"
"""Ends the name of a grading against corrected references."""
_BARE_WORD = re.compile(r"[\W_]*(\w+)[\W_]*")


@dataclass(frozen=True, slots=True)
class Profile:
    """One way to grade. Its version is the fingerprint of its prompts, which every call records.

    Attributes:
        prompt: Name of the prompt file.
        key: Of the reply's JSON object, where the judgement stands.
        right: Values that accept, case-folded.
        wrong: Values that reject.
        rubrics: Prompts of other question types, by the benchmark's own type (`Gold.kind`).
        abstention: Prompt of questions to abstain from; None grades them by rule.
    """

    prompt: str
    key: str
    right: frozenset[str]
    wrong: frozenset[str]
    rubrics: Mapping[str, str] = field(default_factory=dict)
    abstention: str | None = None

    @property
    def prompts(self) -> tuple[str, ...]:
        """Every prompt it may use."""
        more = () if self.abstention is None else (self.abstention,)
        return (self.prompt, *self.rubrics.values(), *more)

    def prompt_for(self, gold: Gold) -> str:
        """The prompt for one question."""
        if gold.abstain and self.abstention is not None:
            return self.abstention
        return self.rubrics.get(gold.kind, self.prompt)

    def read(self, reply: ChatReply, schema: dict[str, Any] | None = None) -> Outcome:
        """RIGHT or WRONG: one JSON object with the key, or one bare word.

        The judgement must be the whole value: "incorrect" contains "correct", and "not correct" is neither.

        Raises:
            ReplyInvalid: When it is neither.
        """
        word = self._word(reply)
        if word in self.right:
            return Outcome.RIGHT
        if word in self.wrong:
            return Outcome.WRONG
        raise ReplyInvalid("unknown_value", word[-80:])

    def _word(self, reply: ChatReply) -> str:
        # Not the prompt's schema: {"label": false} of an endpoint without structured output is readable.
        loose = {"type": "object", "properties": {self.key: {}}, "required": [self.key]}
        try:
            word = parse_reply(reply, loose)[self.key]
        except ReplyInvalid as exc:
            if exc.reason != "not_json":
                raise
            bare = _BARE_WORD.fullmatch(parse_reply(reply, None))
            if bare is None:
                raise
            word = bare[1]
        return str(word).strip().casefold()


_CORRECT, _WRONG = frozenset({"correct", "right", "true"}), frozenset({"incorrect", "wrong", "false"})

PROFILES: dict[JudgeProfile, Profile] = {
    # MemSIF, Appendix I: directly addresses the question and agrees with the essential reference.
    "memsif": Profile("judge_memsif", "label", _CORRECT, _WRONG),
    # The five rubrics of Wu et al. (ICLR 2025), which are chosen by question type and by `_abs`.
    "longmemeval": Profile(
        "judges/longmemeval_fact",
        "answer",
        frozenset({"yes", "true"}),
        frozenset({"no", "false"}),
        rubrics={
            "temporal-reasoning": "judges/longmemeval_temporal",
            "knowledge-update": "judges/longmemeval_update",
            "single-session-preference": "judges/longmemeval_preference",
        },
        abstention="judges/longmemeval_abstention",
    ),
    # What is customary for LoCoMo since Mem0's evaluation: touching on the same topic is enough.
    "lenient": Profile("judges/lenient", "label", _CORRECT, _WRONG),
    "strict-exact": Profile(
        "judges/strict_exact", "label", frozenset({"exact", "true"}), frozenset({"different", "false"})
    ),
}
"""By name."""
