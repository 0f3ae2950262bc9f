"""How much one tenant, and one key, may ask for."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memsif_ray.api.auth import address
from memsif_ray.api.errors import ApiError, ErrorReply, busy
from memsif_ray.api.settings import ApiSettings
from memsif_ray.service.backend import Caller
from memsif_ray.service.keys import KeyRow


@dataclass(slots=True)
class _Bucket:
    tokens: float
    filled_at: float


class Buckets:
    """Token buckets by name: each holds a minute's worth and fills evenly."""

    def __init__(self, clock: Callable[[], float], *, replicas: int = 1) -> None:
        """Limits are those of so many together. `clock` gives seconds; only differences matter."""
        self._clock = clock
        self._replicas = replicas
        self._buckets: dict[str, _Bucket] = {}

    def take(self, per_minute: Mapping[str, int]) -> float:
        """Take one token from every named bucket, or from none.

        Returns:
            Seconds until all of them will have one; 0.0 when they had.
        """
        ours = {name: limit / self._replicas for name, limit in per_minute.items()}
        buckets = {name: self._filled(name, limit) for name, limit in ours.items()}
        missing = [(1 - bucket.tokens) * 60 / ours[name] for name, bucket in buckets.items()]
        wait_s = max(0.0, *missing)
        if wait_s == 0.0:
            for bucket in buckets.values():
                bucket.tokens -= 1
        return wait_s

    def _filled(self, name: str, per_minute: float) -> _Bucket:
        now, room = self._clock(), max(1.0, per_minute)  # with less no token would ever fit in
        bucket = self._buckets.setdefault(name, _Bucket(room, now))
        bucket.tokens = min(room, bucket.tokens + (now - bucket.filled_at) * per_minute / 60)
        bucket.filled_at = now
        return bucket


class Rated:
    """Refuses what comes too fast with 429, and bodies that are too large with 413 or too slow with 408.

    Stands behind `Authenticated`: limits are a tenant's, and a stranger's body is never read.
    """

    def __init__(self, app: ASGIApp, settings: ApiSettings, buckets: Buckets) -> None:
        """Wrap `app`."""
        self._app = app
        self._settings = settings
        self._buckets = buckets

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on with a body that is counted as it arrives."""
        caller: Caller | None = scope.get("state", {}).get("caller")
        if scope["type"] != "http" or caller is None:
            await self._app(scope, receive, send)
            return
        limit = self._settings.max_body_of(caller.tenant, address(scope))
        refused = self._too_fast(caller, scope["state"]["key"]) or _announced_too_large(scope, limit)
        if refused:
            await ErrorReply(refused)(scope, receive, send)
            return
        body = _Body(receive, limit=limit, pause_s=self._settings.body_timeout_s)
        await self._app(scope, body.receive, send)

    def _too_fast(self, caller: Caller, key: KeyRow | None) -> ApiError | None:
        limits = {f"tenant {caller.tenant}": self._settings.per_minute_of(caller.tenant)}
        if key is not None and key.per_minute is not None:
            limits[f"key {key.key_id}"] = key.per_minute
        wait_s = self._buckets.take(limits)
        if wait_s == 0.0:
            return None
        return busy(429, "rate_limited", "too many requests in a minute", retry_after_s=wait_s)


def _announced_too_large(scope: Scope, limit: int) -> ApiError | None:
    announced = Headers(scope=scope).get("content-length", "0")
    if announced.isdecimal() and len(announced) < 20 and int(announced) <= limit:
        return None
    return _too_large(limit)


def _too_large(limit: int) -> ApiError:
    # The rest of the body is not read, so the connection cannot be used again.
    return ApiError(413, "body_too_large", f"a body may have {limit} bytes", headers={"Connection": "close"})


class _Body:
    """Counts a body while it is read: what was announced may be a lie, or missing."""

    def __init__(self, receive: Receive, *, limit: int, pause_s: float) -> None:
        self._receive = receive
        self._left = self._limit = limit
        self._pause_s: float | None = pause_s

    async def receive(self) -> Message:
        try:
            async with asyncio.timeout(self._pause_s):
                message = await self._receive()
        except TimeoutError:
            raise ApiError(408, "body_too_slow", "the body did not arrive") from None
        if message["type"] == "http.request":
            self._left -= len(message.get("body", b""))
            if self._left < 0:
                raise _too_large(self._limit)
            if not message.get("more_body", False):
                self._pause_s = None  # from here on we wait for a disconnect, which may never come
        return message
