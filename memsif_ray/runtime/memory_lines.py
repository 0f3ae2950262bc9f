"""Calls to shard actors: bounded, sent again where that is harmless, failing as what they are."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

import ray
from ray.exceptions import RayActorError, RayTaskError

from memsif_ray.errors import MemsifError, ServiceBusy
from memsif_ray.runtime.memory_shards import RETRY_AFTER_S, Shards

T = TypeVar("T")

_TRIES_AGAIN = 5
"""Times that Ray sends a call again to a restarted shard: only those that may be done twice."""
_REPEATABLE = frozenset(
    {"ingest", "search", "conversations", "messages", "memories", "memory", "history", "provenance"}
    | {"segments", "trajectories", "candidates", "operation", "export", "usage", "audit", "load", "check"}
)
"""Reads, and ingests, which always have an idempotency key when they get here."""


class ShardLine:
    """Calls to one shard, a bounded number at a time."""

    def __init__(self, shards: Shards, number: int) -> None:
        """Look for the actor when it is first needed."""
        self._shards, self._number = shards, number
        self._most = shards.config.calls_in_flight + shards.config.calls_queued
        self._open = 0
        self._actor: Any = None

    async def send(self, method: Callable[..., Awaitable[T]], *args: Any, **options: Any) -> T:
        """The result of a method of `Conversations` over there; its own error, if it raises one.

        Raises:
            ServiceBusy: When too many calls wait already, or the shard died with this one.
        """
        if self._open >= self._most:
            raise ServiceBusy("too many calls wait for a shard", "shard_full", RETRY_AFTER_S)
        self._open += 1
        try:
            result: T = await self._sent(method.__name__, args, options)
            return result
        finally:
            self._open -= 1

    async def care(self, method: Callable[..., Awaitable[T]]) -> T:
        """The same for questions about its health, which never wait behind others."""
        result: T = await self._sent(method.__name__, (), {}, concurrency_group="care")
        return result

    async def _sent(self, name: str, args: tuple[Any, ...], options: Mapping[str, Any], **how: Any) -> Any:
        if self._actor is None:
            self._actor = await asyncio.to_thread(self._shards.find, self._number)
        again = _TRIES_AGAIN if name in _REPEATABLE else 0
        call = self._actor.call.options(max_task_retries=again, **how).remote(name, args, options)
        try:
            return await call
        except asyncio.CancelledError:
            ray.cancel(call)  # nobody waits for it; what must not stop half-way is shielded over there
            raise
        except RayTaskError as exc:
            if isinstance(exc.cause, MemsifError):
                raise exc.cause from None
            raise
        except RayActorError as exc:
            self._actor = None
            raise ServiceBusy(
                "a shard is restarting: look whether it was done, or send it again",
                "shard_restarting",
                RETRY_AFTER_S,
            ) from exc
