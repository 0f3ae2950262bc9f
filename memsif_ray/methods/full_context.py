"""Full-Context: the whole history, oldest turns dropped to fit the model's window (MemSIF, C.2)."""

from __future__ import annotations

from memsif_ray.config import RunConfig
from memsif_ray.memory.evidence import dated_line
from memsif_ray.methods.base import Tables, Tools
from memsif_ray.methods.lines import message_item, pack
from memsif_ray.text import is_blank
from memsif_ray.types import Context, ContextItem, Conversation, Question

PROMPT_RESERVE = 768
"""Tokens kept free for the answer prompt and the question, besides the answer itself."""


class FullContext:
    """No memory at all: an upper bound on evidence and a lower bound on selection."""

    name = "full-context"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """The budget is what the model's window leaves."""
        self._budget = config.model.context_window - config.answer_max_tokens - PROMPT_RESERVE
        self._tools = tools
        self._items: tuple[ContextItem, ...] = ()

    async def ingest(self, conversation: Conversation) -> None:
        """Render the history once, so that every question shares one prompt prefix."""
        spoken = [m for m in conversation.messages if not is_blank(m.content)]
        newest_first = [message_item(m, dated_line(m)) for m in reversed(spoken)]
        kept = pack(newest_first, self._budget, self._tools.tokens, contiguous=True)
        self._items = tuple(reversed(kept))

    def dump(self) -> Tables:
        """Nothing beyond the conversation itself."""
        return {}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Render again."""
        await self.ingest(conversation)

    async def context(self, question: Question) -> Context:
        """The same for every question."""
        return Context(self._items, retrieved_ids=tuple(i.item_id for i in self._items))

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""
