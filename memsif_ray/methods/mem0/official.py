"""Mem0, official package: `mem0ai` itself, on this run's chat model and embedder.

Paper:
    Chhikara et al. 2025, "Mem0: Building Production-Ready AI Agents with Scalable Long-Term Memory",
    arXiv 2504.19413; the package's algorithm has changed since.

Official code:
    github.com/mem0ai/mem0, Apache-2.0; this drives release 2 with its own prompts, search and vector store
    (Qdrant in memory). The check of our `mem0:2026`, and of our speed.

Deviations:
    - Its chat model and embedder are ours: the package's two objects are replaced, so that its calls are
      metered and replayed as everybody else's are, and nothing but the run's endpoints is called.
    - Its prompt names the day on which it runs; here that is the day of the messages.
    - The package asks for any JSON object; here the reply's schema is the one that its prompt describes.
    - Of two speakers without roles both are users, and every message begins with its day and speaker, because
      the package refuses timestamps.
    - A stored memory is restored by feeding the package the replies it got, for it has no other way that
      keeps its links between entities.
    - BM25 counts only where the package finds its own encoder (fastembed), entities only where it finds
      spaCy's `en_core_web_sm`, which it tries to download where spaCy is installed without it.
    - Its telemetry is off.
    - A memory cites all messages of the batch that taught it, for evidence recall.
"""

from __future__ import annotations

import asyncio
import os
import re
import tempfile
from collections import deque
from collections.abc import Callable, Coroutine, Sequence
from hashlib import sha256
from typing import Any, TypeVar

from pydantic import Field

from memsif_ray.config import RunConfig, Strict
from memsif_ray.errors import ConfigError, DataError, MemsifError
from memsif_ray.memory.dates import spoken
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.mem0.batches import Batch, batches_of, memory_context, spoken_messages
from memsif_ray.text import is_blank
from memsif_ray.types import CallScope, ChatRequest, Context, Conversation, Decision, Note, Question

T = TypeVar("T")

_DAY = re.compile(r"(## (?:Observation|Current) Date\n)\S+")
_MEMORY = {"id": {"type": "string"}, "text": {"type": "string"}, "attributed_to": {"type": "string"}}
_SCHEMA = {
    "type": "object",
    "properties": {
        "memory": {
            "type": "array",
            "maxItems": 20,
            "items": {
                "type": "object",
                "properties": _MEMORY,
                "required": list(_MEMORY),
                "additionalProperties": False,
            },
        }
    },
    "required": ["memory"],
    "additionalProperties": False,
}


class Settings(Strict):
    """The package's defaults, and the 2025 evaluation's batches."""

    batch: int = Field(2, ge=1, description="Messages added together")
    top_k: int = Field(20, ge=1, description="Memories retrieved")
    threshold: float = Field(0.1, description="A memory that scores less is not retrieved")
    max_tokens: int = Field(2000, ge=1, description="Of one extraction")
    temperature: float = Field(0.1, ge=0)


class Mem0Official:
    """One store for the whole conversation. The package is synchronous, so it works in a thread."""

    name = "mem0-official"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Find the package; its store is opened by `ingest` or `load`.

        Raises:
            ConfigError: When the package is not installed.
        """
        self._settings = settings_of(config, "mem0-official", Settings)
        self._budget, self._tools = config.memory.retrieval.context_tokens, tools
        self._open = _package()
        self._memory: Any = None
        self._bridge = Bridge(tools, self._settings)
        self._notes: dict[str, Note] = {}  # by the package's own id
        self._replies: list[Note] = []
        self._decisions: list[Decision] = []

    async def ingest(self, conversation: Conversation) -> None:
        """Add the messages, batch by batch."""
        messages = spoken_messages(conversation)
        if not messages:
            return
        vectors = await self._tools.embedder.embed([messages[0].content])
        self._memory = await self._in_thread(lambda: self._open(vectors.shape[1], self._bridge))
        for batch in batches_of(messages, size=self._settings.batch, recent=0):
            await self._add(batch)

    def dump(self) -> Tables:
        """The package's memories, and the replies from which it made them."""
        return {"notes": [*self._notes.values(), *self._replies], "decisions": self._decisions}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Let the package make the same memories of the same replies; no model is asked.

        Raises:
            DataError: When the replies are not those to this conversation.
        """
        self._bridge.recorded = deque(note.text for note in tables["notes"] if note.kind == "reply")
        await self.ingest(conversation)
        self._bridge.recorded = None

    async def context(self, question: Question) -> Context:
        """What the package's own search finds, as lines that fit the budget."""
        if self._memory is None or is_blank(question.text):
            return Context(())
        self._bridge.scope = self._tools.scope_of(question.question_id)
        found = await self._in_thread(
            lambda: self._memory.search(
                question.text,
                top_k=self._settings.top_k,
                threshold=self._settings.threshold,
                filters={"user_id": question.conversation_id},
            )
        )
        ranked = [(self._notes[hit["id"]], float(hit["score"])) for hit in found["results"]]
        ranked.sort(key=lambda hit: (-hit[1], hit[0].note_id))  # the package's ids are random
        return memory_context(ranked, budget=self._budget, tokens=self._tools.tokens)

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""

    async def _add(self, batch: Batch) -> None:
        self._bridge.day, self._bridge.scope = f"{batch.messages[0].timestamp:%Y-%m-%d}", self._tools.scope
        turns = [
            {"role": m.role, "content": f"[{spoken(m.timestamp)}] {m.speaker}: {m.content}"}
            for m in batch.messages
        ]
        owner = batch.messages[0].conversation_id
        added = await self._in_thread(lambda: self._memory.add(turns, user_id=owner))
        for one in added["results"]:
            note = batch.memory(f"mem_{len(self._notes):05d}", one["memory"], tags=("memory",), detail="")
            self._notes[one["id"]] = note
        self._decisions.append(
            Decision("extract", batch.batch_id, f"{len(added['results'])} memories", self._bridge.decided_by)
        )
        for reply in self._bridge.taken():
            self._replies.append(Note(f"reply_{len(self._replies):05d}", "reply", reply))

    async def _in_thread(self, work: Callable[[], T]) -> T:
        """What the package swallows or wraps of our own errors is raised as it was."""
        self._bridge.loop, self._bridge.failure = asyncio.get_running_loop(), None
        try:
            return await asyncio.to_thread(work)
        finally:
            if self._bridge.failure is not None:
                raise self._bridge.failure


class Bridge:
    """The chat model and the embedder as the package calls them: from its thread, waiting for the answer."""

    def __init__(self, tools: Tools, settings: Settings) -> None:
        """Serve one memory."""
        self._tools, self._settings = tools, settings
        self._said: list[str] = []
        self.loop: asyncio.AbstractEventLoop | None = None
        self.failure: MemsifError | None = None
        self.recorded: deque[str] | None = None
        self.scope: CallScope = tools.scope
        self.day = ""
        self.decided_by = "llm"

    def taken(self) -> list[str]:
        """The replies since this was last called."""
        said, self._said = self._said, []
        return said

    def generate_response(self, messages: Sequence[dict[str, str]], **_: Any) -> str:
        """Reply to a prompt of the package; "" when the model said nothing."""
        system, user = (message["content"] for message in messages)
        request = ChatRequest(
            stage="extract",
            system=system,
            user=_DAY.sub(rf"\g<1>{self.day}", user),
            max_tokens=self._settings.max_tokens,
            temperature=self._settings.temperature,
            seed=self._tools.seed,
            schema=_SCHEMA,
            prompt_id="mem0-official/extract",
            prompt_fingerprint=sha256(system.encode()).hexdigest()[:12],
            scope=self.scope,
        )
        reply = self._wait(self._reply(request))
        self.decided_by = "llm" if reply else "fallback"
        self._said.append(reply)
        return reply

    def embed(self, text: str, memory_action: str | None = None) -> list[float]:
        """One embedding."""
        return self.embed_batch([text])[0]

    def embed_batch(self, texts: Sequence[str], memory_action: str | None = None) -> list[list[float]]:
        """Embeddings in order."""
        return [[float(x) for x in row] for row in self._wait(self._tools.embedder.embed(list(texts)))]

    async def _reply(self, request: ChatRequest) -> str:
        if self.recorded is None:
            return (await self._tools.chat.complete(request)).content or ""
        if not self.recorded:
            raise DataError("the stored replies are not those to this conversation")
        return self.recorded.popleft()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        assert self.loop is not None  # set before the package is called
        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop).result()
        except MemsifError as exc:
            self.failure = self.failure or exc
            raise


def _package() -> Callable[[int, Bridge], Any]:
    """Opens an empty store for vectors of a size.

    Raises:
        ConfigError: When the package is not installed; names the extra.
    """
    os.environ["MEM0_TELEMETRY"] = "False"  # both are read when the package is imported
    os.environ.setdefault("MEM0_DIR", tempfile.mkdtemp(prefix="mem0-"))
    try:
        from mem0 import Memory
        from qdrant_client import QdrantClient
    except ImportError as exc:
        raise ConfigError("mem0-official needs `pip install 'memsif-ray[mem0-official]'`") from exc

    def opened(dim: int, bridge: Bridge) -> Any:
        store = {
            "client": QdrantClient(":memory:"),
            "path": "unused",  # the client wins, but without a path the package refuses the configuration
            "collection_name": "memories",
            "embedding_model_dims": dim,
        }
        unused = {"provider": "openai", "config": {"api_key": "unused"}}
        memory = Memory.from_config(
            {
                "vector_store": {"provider": "qdrant", "config": store},
                "llm": unused,
                "embedder": unused,
                "history_db_path": ":memory:",
            }
        )
        memory.llm = memory.embedding_model = bridge
        return memory

    return opened
