"""MemSIF: Structured Interaction Memory and Dual-Track Fact Memory.

Paper:
    MemSIF, the first of the two papers that this project implements.
Official code:
    None was found; implemented from the paper.
Variants:
    - memsif:no-ts: MemSIF w/o TS: Event Trajectories are built from single messages.
    - memsif:no-et: MemSIF w/o ET: Topical Segments alone, no Event Trajectories.
    - memsif:no-cf: MemSIF w/o CF: no CoreFact memory.
    - memsif:no-af: MemSIF w/o AF: CoreFact memory alone answers; nothing is extracted at query time.
    - memsif:query-local: MemSIF with CoreFacts and query-local evidence, but without ActiveFacts.
Deviations:
    - Thresholds are those of the embedder in use; the paper's are for Qwen3-Embedding-8B.
    - Each decision is left to the chat model only where a probe found it better than chance and than the rule
      beside it; a model that nobody has probed is trusted, as in the paper.
    - Interaction units are ranked by fused dense, lexical, speaker, feedback and thread signals;
      `memory.retrieval.ranking: dense` is the paper's cosine.
    - A boundary judge sees two following messages (`memory.segments.lookahead: 0` is the paper's streaming).
    - Where the model does not distil evidence, it is near-verbatim messages within 512 tokens.
    - Segments of few words join trajectories by φ, without asking the model.
    - A fact must be grounded in the messages it cites; one that is not is logged as rejected.
    - w/o AF asks no sufficiency question and extracts nothing at query time: extraction is the first stage of
      that track, and only so are the paper's costs of this variant (1,935 tokens a question against 3,364 of
      query-local) possible.
    - Query-local keeps CoreFacts: the paper gives it 73.09, more than the 67.72 of w/o CF.
    - w/o TS lets a blank message stay with the message before it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsif_ray.config import MemoryConfig, RunConfig
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.methods.base import Tables, Tools
from memsif_ray.types import Context, Conversation, Question

ABLATIONS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "no-ts": {"segments": {"unit": "message"}},
    "no-et": {"trajectories": {"enabled": False}},
    "no-cf": {"core": {"enabled": False}},
    "no-af": {"active": {"enabled": False}, "retrieval": {"evidence": "none"}},
    "query-local": {"active": {"enabled": False}},
}
"""Settings of memory, by section, that leave out one part each (MemSIF 4.3 and Table 4)."""


def ablated(memory: MemoryConfig, ablation: str) -> MemoryConfig:
    """The same memory without one part.

    Raises:
        KeyError: When there is no ablation of that name.
    """
    changes = ABLATIONS[ablation]
    return memory.model_copy(
        update={section: getattr(memory, section).model_copy(update=new) for section, new in changes.items()}
    )


class MemSIF:
    """The system under study, as one of the compared methods.

    Args:
        config: Of the run.
        tools: Models, extractors and the token counter.
        ablation: What to leave out; a name in `ABLATIONS`.
    """

    name = "memsif"

    def __init__(self, config: RunConfig, tools: Tools, *, ablation: str | None = None) -> None:
        """Nothing is known until `ingest` or `load`."""
        self._config = config.memory if ablation is None else ablated(config.memory, ablation)
        self._tools = tools
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
            config=self._config,
            tools=self._tools,
            speakers=conversation.speakers,
        )
