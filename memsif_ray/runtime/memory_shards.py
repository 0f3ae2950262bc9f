"""Shard actors: each owns the conversations whose name hashes to it, and keeps what `Conversations` promises.

A shard holds nothing that is not in the database: it is restarted without asking anybody, opens its own
store, and takes up the writes that its predecessor had acknowledged and not digested yet.

```text
API replicas ──call──▶ shard 0 … shard n-1 ──▶ one database
                          ▲
                        Keeper   starts them, looks after them, drains them at the end
```

Shards are detached actors, known by name: replicas come and go, and find them. The name holds a fingerprint
of the configuration, so that a deployment with another one gets shards of its own. While both are there, the
database refuses the slower of two writers, which then builds on what the faster one left.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Literal

import ray
from pydantic import Field

from memsif_ray.clients.embedders import make_embedder
from memsif_ray.clients.entities import make_entities
from memsif_ray.clients.openai_http import OpenAIChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import EmbedderConfig, ModelConfig, Strict, fingerprint
from memsif_ray.errors import ConfigError, MemsifError, ServiceBusy
from memsif_ray.logs import begin_request, log_as_json, without_words
from memsif_ray.memory.tools import Tools
from memsif_ray.probing import capabilities_for
from memsif_ray.runtime.session import NAMESPACE
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.service.store import ConversationRow
from memsif_ray.storage.sql import SqlStore, open_store

LOGGER = logging.getLogger(__name__)

RETRY_AFTER_S = 1.0
_DRAIN_S = 20.0
"""How long calls may go on once a shard is told to end; digestion is stored piece by piece anyway."""
_OPEN_CALLS = 10_000
"""Calls that a shard may refuse at a time, as far as Ray is concerned."""


class ShardsConfig(Strict):
    """Where memories are, which models make them, and over how many processes they are spread."""

    store: str | None = Field(
        None, description="sqlite:///path/to/file.db or postgresql://…; None reads $MEMSIF_STORE"
    )
    model: ModelConfig = ModelConfig()
    embedder: EmbedderConfig = EmbedderConfig()
    entities: Literal["auto", "spacy", "rules"] = "auto"
    service: ServiceConfig = ServiceConfig()
    shards: int = Field(2, ge=1, le=256, description="Actors that own conversations")
    calls_in_flight: int = Field(64, ge=1, description="Calls that one shard works on at a time")
    calls_queued: int = Field(128, ge=0, description="Calls that may wait for one shard; above it 503")
    placement: dict[str, float] = Field(
        {}, description="Custom resources that a shard claims, to keep it near what it needs"
    )

    @property
    def mark(self) -> str:
        """Names the shards of this configuration."""
        return fingerprint(self.model_dump(mode="json"))

    def store_url(self) -> str:
        """Of the database.

        Raises:
            ConfigError: When none is named, or one that other processes cannot see.
        """
        url = self.store or os.environ.get("MEMSIF_STORE")
        if not url:
            raise ConfigError("no store is named: set `store`, or MEMSIF_STORE where the shards run")
        if url.startswith("sqlite") and url.partition("://")[2].strip("/") in ("", ":memory:"):
            raise ConfigError("a database in memory belongs to one process: name a file, sqlite:///memory.db")
        return url


def shard_of(tenant: str, conversation_id: str, shards: int) -> int:
    """Whose a conversation is: the same in every process, on every machine, for ever."""
    digest = hashlib.sha256(json.dumps([tenant, conversation_id]).encode()).digest()
    return int.from_bytes(digest[:8], "big") % shards


class MemoryShard:
    """One process's conversations. Undecorated, so that a test can construct it."""

    def __init__(self, config: ShardsConfig, number: int) -> None:
        """Open nothing yet: an actor whose constructor fails is dead for good, a call that fails is not.

        The process is the shard's own, so it also says how its log lines look.
        """
        log_as_json()
        self._config = config
        self._number = number
        self._opening = asyncio.Lock()
        self._open: Conversations | None = None
        self._resuming: asyncio.Task[None] | None = None
        self._slots = asyncio.Semaphore(config.calls_in_flight)
        self._calls = 0
        self._draining = False

    async def call(self, name: str, args: tuple[Any, ...], options: Mapping[str, Any]) -> Any:
        """Do what the `Backend` method of that name does; its first argument is who asks.

        Raises:
            ServiceBusy: When too many wait already, or the shard is about to end.
        """
        if self._draining:
            raise ServiceBusy("memory is shutting down", "shutting_down", RETRY_AFTER_S)
        if self._calls >= self._config.calls_in_flight + self._config.calls_queued:
            raise ServiceBusy("too many calls wait for a shard", "shard_full", RETRY_AFTER_S)
        self._calls += 1
        begin_request(args[0].request_id)
        try:
            async with self._slots:
                return await getattr(await self._conversations(), name)(*args, **options)
        finally:
            self._calls -= 1

    async def care(self, name: str) -> Any:
        """The same for questions about its health, which wait behind nobody: busy is not dead."""
        return await getattr(await self._conversations(), name)()

    async def drain(self) -> None:
        """Finish what has begun, take nothing more, and let go of the store."""
        self._draining = True
        try:
            async with asyncio.timeout(_DRAIN_S):
                while self._calls:
                    await asyncio.sleep(0.05)
        except TimeoutError:
            LOGGER.warning("a shard ends at work", extra={"shard": self._number, "calls": self._calls})
        if self._open is not None:
            await self._open.close()

    async def _conversations(self) -> Conversations:
        async with self._opening:
            if self._open is None:
                self._open = make_conversations(self._config, await open_store(self._config.store_url()))
                self._resuming = asyncio.create_task(self._resume(self._open))
            return self._open

    async def _resume(self, conversations: Conversations) -> None:
        try:
            number = await conversations.resume(self._owns)
        except MemsifError as exc:  # those writes stay stored; who asks for their conversation resumes them
            about = {"shard": self._number, **without_words(exc)}
            LOGGER.warning("a shard could not take up every write", extra=about)
        else:
            about = {"shard": self._number, "conversations": number}
            LOGGER.info("a shard took up what was not digested", extra=about)

    def _owns(self, row: ConversationRow) -> bool:
        return shard_of(row.tenant, row.conversation_id, self._config.shards) == self._number


def make_conversations(config: ShardsConfig, store: SqlStore) -> Conversations:
    """The service of one process, with connections of its own.

    There is no cache of vectors on disk and no exact token counter, which would remember texts: what is
    erased must be gone. The estimate errs on the high side, so budgets are kept.
    """
    tools = Tools(
        chat=OpenAIChat(config.model),
        embedder=make_embedder(config.embedder),
        entities=make_entities(config.entities),
        tokens=EstimatingCounter(),
        capabilities=capabilities_for(config.model),
    )
    return Conversations(store, tools, config.service, lambda: datetime.now(UTC))


@dataclass(frozen=True)
class Shards:
    """The actors of one configuration, by name.

    `find` asks the cluster for a handle, `start` makes the actor if it is not there; both block.
    """

    config: ShardsConfig

    def name(self, number: int) -> str:
        """Of one shard."""
        return f"memsif-{self.config.mark}-shard-{number}"

    def find(self, number: int) -> Any:
        """A handle.

        Raises:
            ServiceBusy: When there is no such actor (yet).
        """
        try:
            return ray.get_actor(self.name(number), namespace=NAMESPACE)
        except ValueError as exc:
            raise ServiceBusy("a shard is not there yet", "shard_starting", RETRY_AFTER_S) from exc

    def start(self, number: int) -> Any:
        """A handle to the actor, made if need be; one that dies is restarted by Ray as often as needed.

        It reserves no CPU: it waits for models nearly all the time. It bounds its calls itself, so that
        health checks get through. (Ray's concurrency groups would not do: each has an event loop of its own,
        and connections belong to one.)
        """
        actor = ray.remote(MemoryShard).options(
            name=self.name(number),
            namespace=NAMESPACE,
            lifetime="detached",
            get_if_exists=True,
            num_cpus=0,
            resources=dict(self.config.placement) or None,
            max_restarts=-1,
            max_concurrency=_OPEN_CALLS,
        )
        return actor.remote(self.config, number)


class Keeper:
    """Starts shards, asks after them, and ends them with the deployment that it belongs to."""

    def __init__(self, config: ShardsConfig) -> None:
        """Start all.

        Raises:
            ConfigError: When no usable store is named.
        """
        if config.store is not None:
            config.store_url()
        self._shards = Shards(config)
        self._numbers = range(config.shards)

    async def check(self) -> None:
        """Start what is not there, and have every shard touch its store, at the first time opening it.

        Raises:
            ServiceBusy: When one does not answer.
        """
        actors = await asyncio.to_thread(lambda: [self._shards.start(number) for number in self._numbers])
        try:
            await asyncio.gather(*(actor.care.remote("load") for actor in actors))
        except ray.exceptions.RayActorError as exc:
            raise ServiceBusy("a shard is restarting", "shard_restarting", RETRY_AFTER_S) from exc

    async def end(self) -> None:
        """Drain all shards, then stop them. What is stored and not digested waits for their successors."""
        await asyncio.gather(*(asyncio.to_thread(self._end, number) for number in self._numbers))

    def _end(self, number: int) -> None:
        try:
            actor = self._shards.find(number)
            ray.get(actor.drain.remote(), timeout=_DRAIN_S * 1.5)
        except ServiceBusy:
            return
        except (ray.exceptions.RayActorError, ray.exceptions.GetTimeoutError, MemsifError) as exc:
            LOGGER.warning("a shard did not drain", extra={"shard": number, **without_words(exc)})
        ray.kill(actor)
