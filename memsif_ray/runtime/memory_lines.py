"""Calls to shard actors: sent again where that is harmless, failing as what they are."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import ray
from ray.exceptions import RayActorError, RayTaskError

from memsif_ray.errors import MemsifError, ServiceBusy
from memsif_ray.runtime.memory_shards import RETRY_AFTER_S, Shards

T = TypeVar("T")
Method = Callable[..., Awaitable[T]]
"""A method of `Conversations`; its name is sent, and its type says what comes back."""

_PATIENCE_S = 30.0
"""How long a call waits for its shard to be restarted, if it may be done twice. Ray's own `max_task_retries`
counts tries, and would use them up in a few seconds on a busy machine."""
_PAUSE_S = 0.5
_REPEATABLE = frozenset(
    {"ingest", "search", "conversations", "messages", "memories", "memory", "history", "provenance"}
    | {"segments", "trajectories", "candidates", "operation", "export", "usage", "audit"}
)
"""Reads, and ingests, which always have an idempotency key when they get here."""
_ABSENT = frozenset({"shard_starting", "shard_restarting"})


class ShardLine:
    """To one shard."""

    def __init__(self, shards: Shards, number: int) -> None:
        """Look for the actor when it is first needed."""
        self._shards, self._number = shards, number
        self._actor: Any = None

    async def send(self, method: Method[T], *args: Any, **options: Any) -> T:
        """The result of a method over there; its own error, if it raises one.

        Raises:
            ServiceBusy: When too many calls wait over there, or the shard died with this one.
        """
        name = method.__name__
        until = time.monotonic() + (_PATIENCE_S if name in _REPEATABLE else 0.0)
        while True:
            try:
                result: T = await self._result((await self._found()).call.remote(name, args, options))
                return result
            except ServiceBusy as exc:
                if exc.code not in _ABSENT or time.monotonic() >= until:
                    raise
            await asyncio.sleep(_PAUSE_S)

    async def care(self, method: Method[T]) -> T:
        """The same for questions about its health, which never wait behind others."""
        result: T = await self._result((await self._found()).care.remote(method.__name__))
        return result

    async def _found(self) -> Any:
        if self._actor is None:
            self._actor = await asyncio.to_thread(self._shards.find, self._number)
        return self._actor

    async def _result(self, call: Any) -> Any:
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
