"""How unsure a model is of its answer from a context: what xMemory weighs episodes by."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memsif_ray.errors import ReplyInvalid
from memsif_ray.methods.base import Tools
from memsif_ray.methods.room import room, shortened
from memsif_ray.methods.sources import missing_share
from memsif_ray.prompts import load
from memsif_ray.prompts.replies import parse_reply
from memsif_ray.types import ChatReply, Decision, Question

LOGPROBS = "log-probabilities"
PROXY = "missing words (proxy)"

UNKNOWN = 5.0
"""Uncertainty when no log-probabilities come back, as in the official code."""
_ANSWER_TOKENS = 20


class Doubt:
    """Uncertainty about one question, always measured the same way, so that two values can be compared.

    With log-probabilities it is the mean negative log-probability of a greedy answer of at most 20 tokens, in
    nats. Where the endpoint gives none with its first reply, a proxy takes its place: the share, in [0, 1],
    of the content words of question and answer that the context does not say. It falls when a context brings
    what the question is about, and rises when the answer is made up.

    Attributes:
        measure: `LOGPROBS` or `PROXY`; "" before the first usable reply.
    """

    def __init__(self, question: Question, *, tools: Tools, window: int) -> None:
        """Nothing is measured yet; `window` is the model's, in tokens."""
        self.measure = ""
        self._question, self._tools, self._window = question, tools, window
        self._unusable = 0

    async def of(self, lines: Sequence[str]) -> float:
        """Uncertainty given these lines; the highest there is when the reply is unusable.

        Raises:
            ServiceError: When the endpoint failed.
        """
        reply = await self._answer(lines)
        try:
            answer = str(parse_reply(reply, None))
        except ReplyInvalid:
            self._unusable += 1
            return self.worst
        self.measure = self.measure or (PROXY if reply.mean_logprob is None else LOGPROBS)
        if self.measure == PROXY:
            return missing_share(f"{self._question.text} {answer}", "\n".join(lines))
        return UNKNOWN if reply.mean_logprob is None else -reply.mean_logprob

    @property
    def worst(self) -> float:
        """The highest uncertainty that there is, by the measure in use."""
        return 1.0 if self.measure == PROXY else UNKNOWN

    def decision(self, before: float) -> Decision:
        """Says how uncertainty was measured, and what it was before any episode was read."""
        how = self.measure or "none"
        decided_by = {LOGPROBS: "llm", PROXY: "rule"}.get(how, "fallback")
        detail = f"{self._unusable} unusable" if self._unusable else ""
        return Decision("uncertainty", self._question.question_id, how, decided_by, before, detail)

    async def _answer(self, lines: Sequence[str]) -> ChatReply:
        budget = room(self._window, reply=_ANSWER_TOKENS)
        request = load("xmemory/probe").request(
            stage="uncertainty",
            scope=self._tools.scope_of(self._question.question_id),
            max_tokens=_ANSWER_TOKENS,
            seed=self._tools.seed,
            lines=shortened(lines, budget=budget, tokens=self._tools.tokens),
            question=self._question.text,
        )
        return await self._tools.chat.complete(replace(request, logprobs=True))
