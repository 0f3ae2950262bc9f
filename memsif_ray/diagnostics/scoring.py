"""Write-time salience S(e) and query-time utility U(e, q) of an utterance, 1 to 3 (MemSIF, Appendix A.3).

What a score must not know cannot reach it: salience is handed no question, and neither is handed a
reference answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from memsif_ray.diagnostics.voting import LABEL_TOKENS
from memsif_ray.errors import ReplyInvalid
from memsif_ray.ports import ChatModel
from memsif_ray.prompts.asking import ask
from memsif_ray.text import is_blank
from memsif_ray.types import CallScope, Message

SALIENCE: Mapping[str, int] = {"SKIP": 1, "MAYBE": 2, "KEEP": 3}
"""Score by label: a small model tells words apart better than numbers."""
UTILITY: Mapping[str, int] = {"IRRELEVANT": 1, "RELATED": 2, "CRITICAL": 3}
PROMPTS = ("diagnostics/salience", "diagnostics/utility")

_PRECEDING = 2
_TEMPERATURE = 0.1


@dataclass(frozen=True, slots=True)
class Score:
    """One score.

    Attributes:
        value: 1, 2 or 3; None when the model's reply could not be read, or it could not be asked.
        reason: Then, why.
    """

    value: int | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Local:
    """All that both scores see of a conversation: an utterance and the two before it, with speakers."""

    before: tuple[str, ...]
    utterance: str


def local(messages: Sequence[Message], place: int) -> Local:
    """The utterance at `place` in a whole conversation. Blank messages say nothing and are passed over."""
    before = [message for message in messages[:place] if not is_blank(message.content)]
    return Local(tuple(map(_line, before[-_PRECEDING:])), _line(messages[place]))


async def salience(shown: Local, *, scorer: ChatModel, scope: CallScope, seed: int) -> Score:
    """Whether an utterance is worth keeping when it is said.

    Raises:
        ServiceError: When the scorer's endpoint failed.
    """
    values = {"before": shown.before, "utterance": shown.utterance}
    return await _score("salience", SALIENCE, values, scorer=scorer, scope=scope, seed=seed)


async def utility(shown: Local, question: str, *, scorer: ChatModel, scope: CallScope, seed: int) -> Score:
    """How much an utterance helps to answer a question.

    Raises:
        ServiceError: When the scorer's endpoint failed.
    """
    values = {"before": shown.before, "utterance": shown.utterance, "question": question}
    return await _score("utility", UTILITY, values, scorer=scorer, scope=scope, seed=seed)


async def _score(
    name: str,
    scale: Mapping[str, int],
    values: Mapping[str, Any],
    *,
    scorer: ChatModel,
    scope: CallScope,
    seed: int,
) -> Score:
    try:
        reply = await ask(
            scorer,
            f"diagnostics/{name}",
            stage=name,
            scope=scope,
            max_tokens=LABEL_TOKENS,
            temperature=_TEMPERATURE,
            seed=seed,
            **values,
        )
    except ReplyInvalid as exc:
        return Score(None, f"unreadable: {exc.reason}")
    return Score(scale[reply["label"]])


def _line(message: Message) -> str:
    return f"{message.speaker}: {message.content}"
