"""The app: layers around routes.

```text
Observed          an id, a log line, metrics, some reply whatever happens
[CORS]            only when pages are named
ThisMachineOnly   development mode: no keys, so nobody else
[KnownHosts]      which names of ours are served
Bounded           size of headers, number in flight, time
Authenticated     key → caller
Rated             requests a minute, size of the body
routes            strict JSON → models → backend
```
"""

from __future__ import annotations

import logging
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

from fastapi import FastAPI
from starlette.middleware import Middleware
from starlette.middleware.cors import CORSMiddleware

from memsif_ray import __version__
from memsif_ray.api import errors
from memsif_ray.api.auth import LOCAL_HOSTS, Authenticated, KnownHosts, ThisMachineOnly
from memsif_ray.api.chat import ChatUpstream
from memsif_ray.api.inspector import mount_inspector
from memsif_ray.api.manual import mount_manual
from memsif_ray.api.metrics import Metrics
from memsif_ray.api.observing import Observed
from memsif_ray.api.rates import Buckets, Rated
from memsif_ray.api.routes import (
    asking,
    chat,
    conversations,
    embeddings,
    health,
    memories,
    operations,
    tenant,
)
from memsif_ray.api.routes.health import Readiness
from memsif_ray.api.settings import ApiSettings, Replica
from memsif_ray.api.work import Bounded, Work
from memsif_ray.ports import Embedder
from memsif_ray.service.backend import Backend
from memsif_ray.service.keys import KeyStore

LOGGER = logging.getLogger(__name__)

_ABOUT = """
Long-term memory for LLM agents: messages in, evidence and answers out.

**First steps.** `POST /v1/memories` with a `conversation_id` and messages; `POST /v1/search` or
`POST /v1/answer` with the same `conversation_id`. Or point any OpenAI client at this server.

**Scope.** The API key says which tenant; requests name one conversation. What belongs to another tenant does
not exist, and nothing reads or deletes everything at once.

**Errors** have OpenAI's shape: `{"error": {"type", "code", "message", "param", "request_id"}}`.
**Lists** come in pages: `cursor=` the `next_cursor` of the page before. **Times** are ISO 8601.
"""


def make_app(
    backend: Backend,
    keys: KeyStore | None,
    settings: ApiSettings | None = None,
    *,
    upstream: ChatUpstream | None = None,
    embedder: Embedder | None = None,
    replica: Replica | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> FastAPI:
    """The memory API over a backend, which the app closes when it ends.

    Args:
        backend: Keeps the memories.
        keys: Who may ask; None is development mode: no keys, one tenant, this machine only.
        settings: Limits; by default those for a laptop.
        upstream: The model behind `/v1/chat/completions`; without one there is no such address.
        embedder: The model behind `/v1/embeddings`, likewise.
        replica: Which of several servers this is; by default the only one.
        clock: Seconds, for rate limits.
    """
    settings = settings or ApiSettings()
    replica = replica or Replica()
    metrics = Metrics(replica.name)
    work = Work(metrics)
    app = FastAPI(
        title="MemSIF memory API",
        version=__version__,
        description=_ABOUT,
        lifespan=_lifespan,
        middleware=_layers(
            keys, settings, metrics=metrics, work=work, buckets=Buckets(clock, replicas=replica.of)
        ),
        redirect_slashes=False,
        docs_url=None,  # `mount_manual` needs no network
        redoc_url=None,
        generate_unique_id_function=lambda route: route.name,  # short names in generated clients
    )
    app.state.backend = backend
    app.state.keys = keys
    app.state.settings = settings
    app.state.metrics = metrics
    app.state.work = work
    app.state.upstream = upstream
    app.state.embedder = embedder
    app.state.readiness = Readiness(
        backend, cache_s=settings.ready_cache_s, timeout_s=settings.request_timeout_s / 2
    )
    errors.install(app)
    _add_routes(app)
    return app


def _add_routes(app: FastAPI) -> None:
    routers = [memories.ROUTER, asking.ROUTER, conversations.ROUTER, conversations.STRUCTURES]
    routers += [operations.ROUTER, tenant.BUNDLES, tenant.ACCOUNT, health.ROUTER]
    if app.state.upstream is not None:
        routers.append(chat.ROUTER)
    if app.state.embedder is not None:
        routers.append(embeddings.ROUTER)
    for router in routers:
        app.include_router(router)
    mount_manual(app)
    mount_inspector(app)


def _layers(
    keys: KeyStore | None, settings: ApiSettings, *, metrics: Metrics, work: Work, buckets: Buckets
) -> list[Middleware]:
    """Outermost first."""
    layers: list[Any] = [Middleware(Observed, metrics=metrics)]
    if settings.cors_origins:
        layers.append(
            Middleware(
                CORSMiddleware,
                allow_origins=settings.cors_origins,
                allow_methods=["GET", "POST", "PATCH", "DELETE"],
                allow_headers=["Authorization", "Content-Type", "If-Match", "Idempotency-Key"],
                expose_headers=["ETag", "X-Request-ID", "Retry-After"],
            )
        )
    hosts = settings.allowed_hosts
    if keys is None:
        layers.append(Middleware(ThisMachineOnly))
        hosts = hosts or LOCAL_HOSTS
    if hosts:
        layers.append(Middleware(KnownHosts, hosts=hosts))
    return [
        *layers,
        Middleware(Bounded, settings=settings, work=work),
        Middleware(Authenticated, keys=keys),
        Middleware(Rated, settings=settings, buckets=buckets),
    ]


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    """Say who is served; at the end finish what is being done, then let go of the backend."""
    if app.state.keys is None:
        LOGGER.warning("development mode: no keys, so only this machine is served")
    app.state.work.draining = False  # an app that was shut down may be started again
    yield
    await app.state.work.finish(app.state.settings.drain_s)
    await app.state.backend.close()
