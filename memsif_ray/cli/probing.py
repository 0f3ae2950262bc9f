"""The tools that the probe set needs, for the model that a configuration names."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from memsif_ray.cli.output import note
from memsif_ray.clients.embedders import make_embedder
from memsif_ray.clients.entities import make_entities
from memsif_ray.clients.openai_http import OpenAIChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import ModelConfig, RunConfig
from memsif_ray.memory.tools import Tools
from memsif_ray.ports import ChatModel
from memsif_ray.probing.probe import probe_model
from memsif_ray.probing.profile import Profile
from memsif_ray.types import CallScope


async def probe_configured(config: RunConfig) -> Profile:
    """Measure the configured model with the configured embedder and memory settings.

    Raises:
        ServiceError: When the model or the embedder failed.
    """
    async with _chat(config.model) as chat:
        tools = Tools(
            chat=chat,
            embedder=make_embedder(config.embedder),
            entities=make_entities(config.entities),
            tokens=EstimatingCounter(),
            scope=CallScope(method="probe"),
        )
        return await probe_model(
            config.model.model,
            tools,
            config=config.memory,
            progress=lambda decision: note(f"probing {decision}"),
        )


@asynccontextmanager
async def _chat(model: ModelConfig) -> AsyncIterator[ChatModel]:
    """The model behind its endpoint, or the embedded one for the length of the block."""
    if model.base_url is not None:
        remote = OpenAIChat(model)
        try:
            yield remote
        finally:
            await remote.aclose()
        return
    from memsif_ray.clients.embedded.chat import EmbeddedChat
    from memsif_ray.clients.embedded.engine import EmbeddedEngine
    from memsif_ray.clients.embedded.weights import find_model

    engine = EmbeddedEngine(find_model(model.model, progress=note), model=model.model)
    await engine.start()
    try:
        yield EmbeddedChat(engine)
    finally:
        await engine.aclose()
