"""The embedded model as a Ray Serve application, for the length of a job."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from fastapi import FastAPI
from ray import serve
from ray.serve import Application

from memsif_ray.clients.embedded.app import create_app
from memsif_ray.clients.embedded.engine import EmbeddedEngine, EngineSettings
from memsif_ray.clients.embedded.weights import find_model
from memsif_ray.clients.embedders import make_embedder
from memsif_ray.config import EmbedderConfig, ModelConfig
from memsif_ray.errors import ConfigError, ServiceBusy

LOGGER = logging.getLogger(__name__)

_APP = "memsif-model"
_HOST = "127.0.0.1"
# The engine has its own, shorter queue and answers 429 when that is full; Serve must not be in its way.
_MOST_REQUESTS = 4096
_GRACE_S = 5.0


class Endpoint(NamedTuple):
    """Where the model answers, and under which names."""

    base_url: str
    model: str
    embedder_model: str


class ModelServer:
    """One replica: the engine's process and the embedder belong to it and end with it."""

    def __init__(self, model: ModelConfig, embedder: EmbedderConfig) -> None:
        """Load nothing yet."""
        self._model = model
        self._embedder = embedder
        self._engine: EmbeddedEngine | None = None

    async def __serve_build_asgi_app__(self) -> FastAPI:  # noqa: D105 - called by Serve, once
        folder = await asyncio.to_thread(find_model, self._model.model)
        settings = EngineSettings(context_window=self._model.context_window)
        self._engine = EmbeddedEngine(folder, model=self._model.model, settings=settings)
        await self._engine.start()
        return create_app(self._engine, make_embedder(self._embedder))

    async def check_health(self) -> None:
        """Asked by Serve, which replaces a replica that raises.

        Raises:
            ServiceBusy: When the engine's process has ended.
        """
        if self._engine is not None and not self._engine.ready:
            raise ServiceBusy("the model process ended", "engine_stopped")


def model_application(model: ModelConfig, embedder: EmbedderConfig) -> Application:
    """The application, for those who run Serve themselves."""
    deployed = serve.deployment(
        name=_APP,
        # No CPU is claimed: on a machine of two cores the shards need both claims, and the operating system
        # shares the cores between the model and the actors that wait for it.
        ray_actor_options={"num_cpus": 0},
        max_ongoing_requests=_MOST_REQUESTS,
        graceful_shutdown_timeout_s=_GRACE_S,
    )
    application: Application = deployed(serve.ingress()(ModelServer)).bind(model, embedder)
    return application


@contextmanager
def start_model_server(
    model: ModelConfig, embedder: EmbedderConfig, *, progress: Callable[[str], None] = LOGGER.info
) -> Iterator[Endpoint]:
    """Serve the embedded model on a free local port for the block. Needs a connection to Ray.

    Args:
        model: Its `base_url` must be None.
        embedder: Served too.
        progress: Told about slow steps.

    Raises:
        ConfigError: When the model is not installed, or this Ray cluster already runs Serve.
    """
    if serve.status().proxies:
        raise ConfigError(
            "Ray Serve already runs on this cluster: serve the model there and name its base_url"
        )
    find_model(model.model, progress=progress)
    progress(f"loading {model.model}")
    port = _free_port()
    logging.getLogger("ray.serve").setLevel(logging.WARNING)  # `progress` says what a person wants to know
    serve.start(proxy_location="HeadOnly", http_options={"host": _HOST, "port": port})
    try:
        serve.run(model_application(model, embedder), name=_APP, route_prefix="/")
        yield Endpoint(f"http://{_HOST}:{port}/v1", model.model, embedder.model)
    finally:
        serve.shutdown()  # type: ignore[no-untyped-call]


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind((_HOST, 0))
        port: int = probe.getsockname()[1]
    return port
