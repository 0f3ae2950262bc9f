"""MemSIF: Structured Interaction Memory and Dual-Track Fact Memory (the first paper)."""

from __future__ import annotations

from memsif_ray.config import RunConfig
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.methods.base import Tables, Tools
from memsif_ray.types import Context, Conversation, Question


class MemSIF:
    """The system under study, as one of the compared methods."""

    name = "memsif"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Nothing is known until `ingest` or `load`."""
        self._config, self._tools = config, tools
        self._memory: ConversationMemory | None = None

    @property
    def memory(self) -> ConversationMemory:
        """The memory itself.

        Raises:
            RuntimeError: Before `ingest` or `load`.
        """
        if self._memory is None:
            raise RuntimeError("ingest or load a conversation first")
        return self._memory

    async def ingest(self, conversation: Conversation) -> None:
        """Build memory from a whole history, with the configured lookahead at boundaries."""
        self._memory = self._empty(conversation)
        await self._memory.add(conversation.messages)
        await self._memory.flush()

    def dump(self) -> Tables:
        """See `ConversationMemory.dump`."""
        return self.memory.dump()

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """See `ConversationMemory.restore`."""
        memory = self._empty(conversation)
        memory.restore(tables)
        self._memory = memory

    async def context(self, question: Question) -> Context:
        """Facts, and evidence where they do not suffice."""
        return await self.memory.context(question)

    async def learn(self, question: Question, context: Context) -> None:
        """Grow ActiveFact candidates from the evidence that was used."""
        await self.memory.learn(question, context)

    def _empty(self, conversation: Conversation) -> ConversationMemory:
        return ConversationMemory(
            conversation.conversation_id,
            config=self._config.memory,
            tools=self._tools,
            speakers=conversation.speakers,
        )
