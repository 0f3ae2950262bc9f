"""The service inside a process: its models, its store, and who closes them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import UTC, datetime

from memsif_ray.clients.embedded.chat import EmbeddedChat, EmbeddedCounter
from memsif_ray.clients.embedded.engine import EmbeddedEngine
from memsif_ray.clients.embedded.on_demand import EngineOnDemand
from memsif_ray.clients.embedded.weights import find_model
from memsif_ray.clients.embedders import HttpEmbedder, make_embedder
from memsif_ray.clients.entities import make_entities
from memsif_ray.clients.openai_http import OpenAIChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import EmbedderConfig, ModelConfig
from memsif_ray.errors import MemsifError
from memsif_ray.memory.tools import Tools
from memsif_ray.ports import ChatModel, Embedder, TokenCounter
from memsif_ray.probing import capabilities_for
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.storage.sql import open_store


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a memory is made of.

    Attributes:
        url: Of its store.
        tools: Ready-made ports instead of `model` and `embedder`; closed by whoever made them.
    """

    url: str
    service: ServiceConfig
    model: ModelConfig
    embedder: EmbedderConfig
    tools: Tools | None = None


@asynccontextmanager
async def opened(recipe: Recipe) -> AsyncIterator[Conversations]:
    """The service. At the end it finishes what has begun, and closes all that it opened.

    Raises:
        ConfigError: When the embedder, a router or the store cannot be used.
        ServiceBusy: When the database does not answer.
    """
    async with AsyncExitStack() as stack:
        tools = recipe.tools or _connected(recipe, stack)
        store = await open_store(recipe.url)
        try:
            conversations = Conversations(store, tools, recipe.service, _now)
        except MemsifError:
            await store.close()
            raise
        stack.push_async_callback(conversations.close)
        yield conversations


def _connected(recipe: Recipe, stack: AsyncExitStack) -> Tools:
    """As in a server: no file and no counter remembers texts, since what is erased must be gone."""
    chat, tokens = _chat(recipe.model, stack)
    return Tools(
        chat=chat,
        embedder=_embedder(recipe.embedder, stack),
        entities=make_entities("auto"),
        tokens=tokens,
        capabilities=capabilities_for(recipe.model),
    )


def _chat(config: ModelConfig, stack: AsyncExitStack) -> tuple[ChatModel, TokenCounter]:
    if config.base_url is not None:
        chat = OpenAIChat(config)
        stack.push_async_callback(chat.aclose)
        return chat, EstimatingCounter()
    name = config.model
    engine = EngineOnDemand(name, lambda: EmbeddedEngine(find_model(name), model=name))
    stack.push_async_callback(engine.aclose)
    return EmbeddedChat(engine), EmbeddedCounter(engine)


def _embedder(config: EmbedderConfig, stack: AsyncExitStack) -> Embedder:
    embedder = make_embedder(config)
    if isinstance(embedder, HttpEmbedder):
        stack.push_async_callback(embedder.aclose)
    return embedder


def _now() -> datetime:
    """The clock on this machine's wall: by it "yesterday" is meant."""
    return datetime.now(UTC).astimezone()
