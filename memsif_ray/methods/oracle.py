"""Oracle: the gold evidence turns and nothing else, in chronological order.

Paper:
    A control, not a system: what the answer model makes of perfect retrieval.
Official code:
    None needed.
Deviations:
    - Evidence beyond the budget `memory.retrieval.context_tokens` is dropped, in the order the data lists it.
    - A question without gold evidence (as of things never mentioned) gets an empty context.
    - It is the one method that sees which turns are gold. It never sees an answer.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from memsif_ray.config import RunConfig
from memsif_ray.methods.base import Tables, Tools
from memsif_ray.methods.lines import turns_that_fit
from memsif_ray.text import is_blank
from memsif_ray.types import Context, Conversation, Message, Question


class Oracle:
    """Knows where the answer is; an upper bound on what retrieval can do."""

    name = "oracle"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Nothing is known until `ingest` or `load`, and no evidence until `see_evidence`."""
        self._budget, self._tools = config.memory.retrieval.context_tokens, tools
        self._messages: Mapping[str, Message] = {}
        self._evidence: Mapping[str, Sequence[str]] = {}

    def see_evidence(self, evidence: Mapping[str, Sequence[str]]) -> None:
        """Learn the gold message ids of each question."""
        self._evidence = evidence

    async def ingest(self, conversation: Conversation) -> None:
        """Keep the turns that say something."""
        self._messages = {m.message_id: m for m in conversation.messages if not is_blank(m.content)}

    def dump(self) -> Tables:
        """Nothing beyond the conversation itself."""
        return {}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Keep the turns again."""
        await self.ingest(conversation)

    async def context(self, question: Question) -> Context:
        """The gold turns of one question."""
        named = self._evidence.get(question.question_id, ())
        gold = [self._messages[m] for m in named if m in self._messages]
        items = turns_that_fit(gold, self._budget, self._tools.tokens)
        return Context(items, retrieved_ids=tuple(m.message_id for m in gold))

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""
