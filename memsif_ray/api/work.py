"""What is being done now: bounded, timed, and finished before the process ends."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine, Iterator
from contextlib import contextmanager
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memsif_ray.api.auth import is_public
from memsif_ray.api.errors import ApiError, ErrorReply, busy
from memsif_ray.api.metrics import Metrics
from memsif_ray.api.settings import ApiSettings

LOGGER = logging.getLogger(__name__)


class Work:
    """Requests and background tasks of one app.

    Attributes:
        draining: True once a shutdown began; new requests are refused then.
    """

    def __init__(self, metrics: Metrics) -> None:
        """Idle."""
        self.draining = False
        self.in_flight = 0
        self._metrics = metrics
        self._idle = asyncio.Event()
        self._idle.set()
        self._background: set[asyncio.Task[None]] = set()

    @contextmanager
    def one(self) -> Iterator[None]:
        """Count a request while it is worked on."""
        self.in_flight += 1
        self._metrics.in_flight.inc()
        self._idle.clear()
        try:
            yield
        finally:
            self.in_flight -= 1
            self._metrics.in_flight.dec()
            if self.in_flight == 0:
                self._idle.set()

    def later(self, job: Coroutine[Any, Any, None]) -> None:
        """Do something that no reply waits for."""
        task = asyncio.create_task(job)
        self._background.add(task)
        task.add_done_callback(self._background.discard)

    async def finish(self, limit_s: float) -> None:
        """Take no more requests, and wait for those in flight and for background tasks, within the limit."""
        self.draining = True
        try:
            async with asyncio.timeout(limit_s):
                await self._idle.wait()
                while self._background:
                    await asyncio.wait(self._background)
        except TimeoutError:
            left = {"requests": self.in_flight, "tasks": len(self._background)}
            LOGGER.warning("shutdown did not wait for everything", extra=left)


class Bounded:
    """Refuses what there is no room for, and ends what takes too long.

    Health and metrics are always served: an operator asks for them exactly when there is no room.
    """

    def __init__(self, app: ASGIApp, settings: ApiSettings, work: Work) -> None:
        """Wrap `app`."""
        self._app = app
        self._settings = settings
        self._work = work

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        refused = self._refused(scope)
        if refused:
            await ErrorReply(refused)(scope, receive, send)
            return
        with self._work.one():
            await self._in_time(scope, receive, send)

    def _refused(self, scope: Scope) -> ApiError | None:
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        size += len(scope.get("raw_path") or scope["path"]) + len(scope["query_string"])
        if size > self._settings.max_header_bytes:
            return ApiError(431, "headers_too_large", "headers and address are too long")
        if is_public(scope):
            return None
        if self._work.draining:
            return busy(503, "shutting_down", "this server is shutting down")
        if self._work.in_flight >= self._settings.max_in_flight:
            return busy(503, "overloaded", "too many requests at a time")
        return None

    async def _in_time(self, scope: Scope, receive: Receive, send: Send) -> None:
        started = False

        async def sending(message: Message) -> None:
            nonlocal started
            if not started:
                started = True
                limit.reschedule(asyncio.get_running_loop().time() + self._settings.stream_timeout_s)
            await send(message)

        try:
            async with asyncio.timeout(self._settings.request_timeout_s) as limit:
                await self._app(scope, receive, sending)
        except TimeoutError:
            if not limit.expired():
                raise
            if not started:
                await ErrorReply(ApiError(504, "timeout", "it took too long"))(scope, receive, send)
