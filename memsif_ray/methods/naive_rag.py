"""Naive RAG: every turn is a chunk; the best 100 by cosine, in chronological order (MemSIF, C.2).

The budget is the run's `context_tokens`, the same as MemSIF's. (The paper gives RAG the 32K window of
Full-Context; at an equal budget the comparison is about what is chosen, not how much is read.)
Turns are rendered as MemSIF's evidence is: dated, attributed, relative dates resolved.
"""

from __future__ import annotations

import numpy as np

from memsif_ray.config import RunConfig
from memsif_ray.memory.evidence import dated_line
from memsif_ray.methods.base import Tables, Tools
from memsif_ray.methods.lines import chronological, message_item, pack
from memsif_ray.text import is_blank
from memsif_ray.types import Context, Conversation, Message, Question

TOP_K = 100


class NaiveRag:
    """Dense retrieval of single turns."""

    name = "naive-rag"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Nothing is known until `ingest` or `load`."""
        self._budget, self._tools = config.memory.retrieval.context_tokens, tools
        self._messages: list[Message] = []
        self._vectors = np.zeros((0, 0), dtype=np.float32)

    async def ingest(self, conversation: Conversation) -> None:
        """Embed every turn that says something."""
        self._messages = [m for m in conversation.messages if not is_blank(m.content)]
        if self._messages:
            self._vectors = await self._tools.embedder.embed([m.content for m in self._messages])

    def dump(self) -> Tables:
        """Nothing beyond the conversation itself: vectors are in the embedding cache."""
        return {}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Ingest again: the embedding cache makes it cheap."""
        await self.ingest(conversation)

    async def context(self, question: Question) -> Context:
        """The nearest turns that fit the budget."""
        if not self._messages or is_blank(question.text):
            return Context(())
        query = (await self._tools.embedder.embed([question.text]))[0]
        best = np.argsort(-(self._vectors @ query), kind="stable")[:TOP_K]
        ranked = [self._messages[i] for i in best]
        items = pack([message_item(m, dated_line(m)) for m in ranked], self._budget, self._tools.tokens)
        return Context(chronological(items), retrieved_ids=tuple(m.message_id for m in ranked))

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""
