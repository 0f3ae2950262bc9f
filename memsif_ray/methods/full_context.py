"""Full-Context: the whole history, oldest turns dropped to fit the model's window.

Paper:
    MemSIF, appendix C.2.
Official code:
    None needed.
Variants:
    - full-context:head: The whole history, newest turns dropped to fit the model's window.
    - full-context:whole: The whole history; one that is too long for the model's window fails its questions.
Deviations:
    - The budget is what `model.context_window` (32,768 by default) leaves beside the answer and its prompt,
      where the paper says "about 32K".
    - "Tail truncation" is read as keeping the tail. Whole turns are dropped, never parts of one.
    - Relative dates ("yesterday") carry the date that they mean, as in every other method's lines.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from memsif_ray.config import RunConfig
from memsif_ray.errors import RequestRefused
from memsif_ray.memory.reading import message_item
from memsif_ray.methods.base import Tables, Tools
from memsif_ray.methods.lines import pack
from memsif_ray.text import is_blank
from memsif_ray.types import Context, ContextItem, Conversation, Question

PROMPT_RESERVE = 768
"""Tokens kept free for the answer prompt and the question, besides the answer itself."""

Keep = Literal["tail", "head", "whole"]


class FullContext:
    """No memory at all: an upper bound on evidence and a lower bound on selection.

    Args:
        config: Of the run.
        tools: Its token counter is used.
        keep: Which end of a history that is too long stays; `whole` refuses to cut it.
    """

    name = "full-context"

    def __init__(self, config: RunConfig, tools: Tools, *, keep: Keep = "tail") -> None:
        """The budget is what the model's window leaves."""
        self._window = config.model.context_window
        self._budget = self._window - config.answer_max_tokens - PROMPT_RESERVE
        self._tools, self._keep = tools, keep
        self._items: tuple[ContextItem, ...] = ()
        self._left_out = 0

    async def ingest(self, conversation: Conversation) -> None:
        """Render the history once, so that every question shares one prompt prefix."""
        lines = [message_item(m) for m in conversation.messages if not is_blank(m.content)]
        self._items = self._fitting(lines)
        self._left_out = len(lines) - len(self._items)

    def dump(self) -> Tables:
        """Nothing beyond the conversation itself."""
        return {}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Render again."""
        await self.ingest(conversation)

    async def context(self, question: Question) -> Context:
        """The same for every question.

        Raises:
            RequestRefused: When the history must not be cut and is too long.
        """
        if self._keep == "whole" and self._left_out:
            raise RequestRefused(
                f"{self._left_out} turns do not fit a window of {self._window} tokens",
                "context_length_exceeded",
            )
        return Context(self._items, retrieved_ids=tuple(i.item_id for i in self._items))

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""

    def _fitting(self, lines: Sequence[ContextItem]) -> tuple[ContextItem, ...]:
        step = -1 if self._keep == "tail" else 1  # the end that stays is packed first
        kept = pack(lines[::step], self._budget, self._tools.tokens, contiguous=True)
        ranked = [
            replace(item, score=-float(place)) for place, item in enumerate(kept)
        ]  # for a hard token cap
        return tuple(ranked[::step])
