"""MemSIF as a library: three lines, no server and no Ray.

```python
memory = Memory()
memory.add("I adopted a greyhound called Comet.")
memory.answer("What is the dog called?")
```
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from types import TracebackType
from typing import Any, Self, TypeVar

from platformdirs import user_cache_path

from memsif_ray.clients.embedded.chat import EmbeddedChat, EmbeddedCounter
from memsif_ray.clients.embedded.engine import EmbeddedEngine
from memsif_ray.clients.embedded.weights import find_model
from memsif_ray.clients.embedders import make_embedder
from memsif_ray.clients.entities import make_entities
from memsif_ray.clients.openai_http import OpenAIChat
from memsif_ray.clients.tokens import ServedTokenCounter
from memsif_ray.config import EmbedderConfig, MemoryConfig, ModelConfig, PackingConfig
from memsif_ray.errors import DataError
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.memory.tools import Tools
from memsif_ray.methods.answering import answer_from
from memsif_ray.packing.policy import Packing, router_of, within_budget
from memsif_ray.ports import ChatModel, TokenCounter
from memsif_ray.probing import capabilities_for
from memsif_ray.text import clean, is_blank
from memsif_ray.types import Category, Context, Fact, Message, Question

T = TypeVar("T")
MessageLike = str | Mapping[str, Any] | Message
"""A text, a mapping with `content` (and `name`, `role`, `timestamp`, `id`), or a `Message`."""


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer, what it rests on, and how that was made to fit a token budget, if there was one."""

    text: str
    context: Context
    promoted: tuple[str, ...]
    packing: Packing | None = None


class Memory:
    """One conversation's memory, synchronous. Use as a context manager, or call `close`.

    Args:
        model: Chat model; by default the embedded one.
        embedder: By default the bundled all-MiniLM-L6-v2.
        config: What memory is made of.
        tools: Ready-made ports instead of the three above, e.g. scripted ones.
    """

    def __init__(
        self,
        *,
        model: ModelConfig | None = None,
        embedder: EmbedderConfig | None = None,
        config: MemoryConfig | None = None,
        tools: Tools | None = None,
    ) -> None:
        """Start the models; the first start of the embedded model prepares its weights (a minute)."""
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memsif-memory", daemon=True)
        self._thread.start()
        self._engine: EmbeddedEngine | None = None
        self._tools = tools or self._run(self._connect(model or ModelConfig(), embedder or EmbedderConfig()))
        self._memory = ConversationMemory("memory", config=config or MemoryConfig(), tools=self._tools)
        self._asked = 0

    def add(self, messages: MessageLike | Sequence[MessageLike]) -> int:
        """Take in one or more messages, in order; an id that is known is skipped.

        Returns:
            How many were new.

        Raises:
            DataError: When a message has no text where text is expected.
            ServiceError: When a model failed.
        """
        several = [messages] if isinstance(messages, str | Mapping | Message) else messages
        start = len(self._memory.messages)
        return self._run(self._memory.add([_message(m, start + i) for i, m in enumerate(several)]))

    def search(self, query: str) -> Context:
        """What would be shown to the answer model."""
        return self._run(self._memory.context(self._question(query)))

    def answer(self, question: str, *, learn: bool = True, packing: PackingConfig | None = None) -> Reply:
        """Answer from memory; with `learn`, the evidence may grow into ActiveFacts.

        Args:
            question: In plain words.
            learn: False leaves memory as it is.
            packing: A token budget for what the answer model is shown, e.g. `PackingConfig(budget=128)`.

        Raises:
            ConfigError: When the router of `packing` cannot be used.
            ServiceError: When a model failed.
        """
        return self._run(self._answer(self._question(question), learn, packing or PackingConfig()))

    def facts(self, *, as_of: datetime | None = None, valid_at: datetime | None = None) -> list[Fact]:
        """Facts of both tracks: as believed at `as_of`, as true at `valid_at`, by default now."""
        return self._memory.facts(as_of=as_of, valid_at=valid_at)

    def close(self) -> None:
        """Stop the models."""
        if self._engine is not None:
            self._run(self._engine.aclose())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def __enter__(self) -> Self:
        """The memory itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Close."""
        self.close()

    async def _answer(self, question: Question, learn: bool, packing: PackingConfig) -> Reply:
        router = router_of(packing, embedder=self._tools.embedder.model_id)
        context = await self._memory.context(question)
        shown, packed = await within_budget(
            context, question, config=packing, router=router, tools=self._tools
        )
        answer = await answer_from(shown, question, tools=self._tools, max_tokens=512, temperature=0.1)
        before = {f.fact_id for f in self._memory.facts()}
        if learn:
            await self._memory.learn(question, context)
        promoted = tuple(f.fact_id for f in self._memory.facts() if f.fact_id not in before)
        return Reply(answer.text or "", shown, promoted, packed)

    async def _connect(self, model: ModelConfig, embedder: EmbedderConfig) -> Tools:
        chat: ChatModel
        tokens: TokenCounter
        if model.base_url is None:
            self._engine = EmbeddedEngine(await asyncio.to_thread(find_model, model.model), model=model.model)
            await self._engine.start()
            chat, tokens = EmbeddedChat(self._engine), EmbeddedCounter(self._engine)
        else:
            chat, tokens = OpenAIChat(model), ServedTokenCounter(model)
        return Tools(
            chat,
            make_embedder(embedder, user_cache_path("memsif-ray") / "vectors"),
            make_entities("auto"),
            tokens,
            capabilities_for(model),
        )

    def _question(self, text: str) -> Question:
        self._asked += 1
        now = datetime.now()  # noqa: DTZ005  message times are local and carry no zone
        return Question(f"q{self._asked:05d}", "memory", self._asked, clean(text), Category.SINGLE_HOP, now)

    def _run(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


def _message(given: MessageLike, position: int) -> Message:
    if isinstance(given, Message):
        return given
    fields: Mapping[str, Any] = {"content": given} if isinstance(given, str) else given
    content = fields.get("content")
    if not isinstance(content, str) or is_blank(content):
        raise DataError(f"message {position}: `content` must be a text that says something")
    role = str(fields.get("role", "user"))
    at = fields.get("timestamp") or datetime.now()  # noqa: DTZ005
    return Message(
        conversation_id="memory",
        message_id=str(fields.get("id") or f"m{position:06d}"),
        position=position,
        session=1,
        speaker=str(fields.get("name") or role),
        text=clean(content),
        timestamp=datetime.fromisoformat(at) if isinstance(at, str) else at,
        role=role,
    )
