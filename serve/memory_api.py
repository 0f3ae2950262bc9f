"""The memory API on Ray Serve: stateless replicas in front of shard actors.

```text
serve run serve.memory_api:app args…        or an application of serve/config.yaml
```
"""

# No `from __future__ import annotations`: Serve reads the builder's annotation to check its arguments.

from typing import Any, Self

from fastapi import FastAPI
from pydantic import Field, model_validator
from ray import serve
from ray.serve import Application
from ray.serve.handle import DeploymentHandle

from memsif_ray.api.app import make_app
from memsif_ray.api.settings import ApiSettings, Replica
from memsif_ray.clients.chat_upstream import HttpUpstream
from memsif_ray.clients.embedders import make_embedder
from memsif_ray.config import Strict
from memsif_ray.errors import ConfigError, ServiceBusy
from memsif_ray.logs import log_as_json
from memsif_ray.runtime.memory_router import ShardedConversations
from memsif_ray.runtime.memory_shards import Keeper, ShardsConfig
from memsif_ray.storage.sql import SqlStore, open_store
from serve.endings import Deployment, await_end
from serve.listening import Address, Listener

_HEALTH_S = 5.0
_API = Deployment("memory-api", grace_s=45.0)
"""Its grace is longer than a replica waits for its requests."""
KEEPER = Deployment("memory-keeper", grace_s=_API.grace_s + 45.0)
"""Its grace is longer than the shards take to drain, which begins when nobody calls them any more."""
_SPARE_REQUESTS = 64
"""Serve's limit lies above the app's, so that a client is refused with the app's words and Retry-After."""


class MemoryArgs(Strict):
    """What the application is built from; in YAML the `args` of the application."""

    memory: ShardsConfig = ShardsConfig()
    api: ApiSettings = ApiSettings()
    keys: bool = Field(True, description="False is development mode: no keys, this machine only")
    chat: bool = Field(True, description="Serve /v1/chat/completions, with the same model behind it")
    embeddings: bool = Field(True, description="Serve /v1/embeddings, with memory's own embedder behind it")
    replicas: int = Field(1, ge=1, description="Of the API; they hold no state")
    listen: Address | None = Field(
        None,
        description="The one replica listens here itself. Ray Serve's proxy, of use where there are several, "
        "takes longer than a search does",
    )

    @model_validator(mode="after")
    def _one_listens(self) -> Self:
        if self.listen is not None and self.replicas > 1:
            raise ValueError("one address is for one replica: leave `listen` out, or `replicas`")
        return self


class MemoryKeeper:
    """Starts the shards with the application, restarts what is gone, drains them with the application."""

    def __init__(self, config: ShardsConfig, *before: DeploymentHandle[Any]) -> None:
        """Start nothing yet. `before` are deployments that belong to the application, and no more."""
        self._keeper = Keeper(config)

    async def check_health(self) -> None:
        """Asked by Serve, for the first time before the application is called healthy."""
        await self._keeper.check()

    async def __del__(self) -> None:
        """Called and awaited by Serve when the application ends.

        First the API: a chat that is being answered still wants to be remembered.
        """
        await await_end(_API)
        await self._keeper.end()


class MemoryApi:
    """One replica of the HTTP side. It owns connections to the database, and no conversation."""

    def __init__(self, args: MemoryArgs, keeper: DeploymentHandle[Any]) -> None:
        """Open nothing yet. `keeper` makes the shards part of the application."""
        self._args = args
        self._store: SqlStore | None = None
        self._listener: Listener | None = None

    async def __serve_build_asgi_app__(self) -> FastAPI:  # noqa: D105 - called by Serve, once
        log_as_json()
        args = self._args
        self._store = store = await open_store(args.memory.store_url())
        app = make_app(
            ShardedConversations(args.memory, store),
            store.api_keys if args.keys else None,
            args.api,
            upstream=HttpUpstream(args.memory.model) if args.chat else None,
            embedder=make_embedder(args.memory.embedder) if args.embeddings else None,
            replica=_replica(args.replicas),
        )
        if args.listen is not None:
            self._listener = Listener(app, args.listen)
        return app

    async def check_health(self) -> None:
        """Asked by Serve, which replaces a replica that cannot do its work.

        Raises:
            ServiceBusy: When the database does not answer, or the HTTP server has ended.
        """
        if self._listener is not None and self._listener.ended:
            raise ServiceBusy("the HTTP server has ended", "listener_ended")
        if self._store is not None:
            await self._store.ping()

    async def __del__(self) -> None:
        """Called and awaited by Serve, when the app has finished what it was asked."""
        if self._listener is not None:
            await self._listener.close()


def _replica(of: int) -> Replica:
    return Replica(serve.get_replica_context().replica_id.unique_id, of) if of > 1 else Replica()


def app(args: MemoryArgs) -> Application:
    """The application.

    Raises:
        ConfigError: When the model's endpoint is not named.
    """
    return memory_application(args)


def memory_application(args: MemoryArgs, *before: Application) -> Application:
    """The application, with other deployments that are to live and end with it."""
    if args.memory.model.base_url is None:
        raise ConfigError("memory.model.base_url is missing; serve.laptop:app serves the embedded model too")
    resources = {"num_cpus": 0, "resources": dict(args.memory.placement)}
    keeper = serve.deployment(
        name=KEEPER.name,
        ray_actor_options=resources,
        health_check_period_s=_HEALTH_S,
        graceful_shutdown_timeout_s=KEEPER.grace_s,
    )(MemoryKeeper)
    api = serve.deployment(
        name=_API.name,
        num_replicas=args.replicas,
        ray_actor_options=resources,
        max_ongoing_requests=args.api.max_in_flight + _SPARE_REQUESTS,
        max_queued_requests=args.api.max_in_flight,
        health_check_period_s=_HEALTH_S,
        graceful_shutdown_timeout_s=_API.grace_s,
    )(serve.ingress()(MemoryApi))
    application: Application = api.bind(args, keeper.bind(args.memory, *before))
    return application
