"""The embedded model and embedder, on a port of this machine that no other machine can reach.

Beside Serve's proxy and not behind it: the proxy may be opened to others, who need a key for memory, and
nobody should get the model without one.
"""

import asyncio
from collections.abc import Mapping

from ray import serve
from ray.serve import Application

from memsif_ray.clients.embedded.app import create_app
from memsif_ray.clients.embedded.engine import EmbeddedEngine, EngineSettings
from memsif_ray.clients.embedded.weights import find_model
from memsif_ray.clients.embedders import make_embedder
from memsif_ray.config import EmbedderConfig, ModelConfig
from memsif_ray.errors import ServiceBusy
from serve.endings import Deployment, await_end
from serve.listening import Address, Listener

HOST = "127.0.0.1"
_GRACE_S = 5.0


class LocalModels:
    """One replica: engine, embedder and their HTTP server belong to it and end with it."""

    async def __init__(  # type: ignore[misc]  # Serve awaits it
        self, port: int, model: ModelConfig | None, embedder: EmbedderConfig | None, needed_by: Deployment
    ) -> None:
        """Start what is asked for."""
        self._needed_by = needed_by
        self._engine = await _engine(model) if model else None
        made = make_embedder(embedder) if embedder else None
        if made is not None:
            await made.embed(["loaded now, and not with the first request"])
        self._listener = Listener(create_app(self._engine, made), Address(host=HOST, port=port))

    async def check_health(self) -> None:
        """Asked by Serve, which replaces a replica that raises.

        Raises:
            ServiceBusy: When the engine's process or the HTTP server has ended.
        """
        if self._listener.ended or (self._engine is not None and not self._engine.ready):
            raise ServiceBusy("the local model stopped", "engine_stopped")

    async def __del__(self) -> None:
        """Called and awaited by Serve."""
        await await_end(self._needed_by)
        await self._listener.close()
        if self._engine is not None:
            await self._engine.aclose()


async def _engine(model: ModelConfig) -> EmbeddedEngine:
    folder = await asyncio.to_thread(find_model, model.model)
    engine = EmbeddedEngine(
        folder, model=model.model, settings=EngineSettings(context_window=model.context_window)
    )
    await engine.start()
    return engine


def local_models(
    port: int,
    model: ModelConfig | None,
    embedder: EmbedderConfig | None,
    *,
    placement: Mapping[str, float],
    needed_by: Deployment,
) -> Application:
    """The deployment, to be bound into an application. It claims no CPU: it shares them with the others."""
    deployed = serve.deployment(
        name="local-models",
        ray_actor_options={"num_cpus": 0, "resources": dict(placement)},
        graceful_shutdown_timeout_s=needed_by.grace_s + _GRACE_S,
    )(LocalModels)
    application: Application = deployed.bind(port, model, embedder, needed_by)
    return application
