"""The outermost layer: every request gets an id, a log line, a place in the metrics, and some reply."""

from __future__ import annotations

import logging
import time

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from memsif_ray.api.errors import ApiError, ErrorReply
from memsif_ray.api.metrics import Metrics
from memsif_ray.logs import begin_request, without_words

LOGGER = logging.getLogger(__name__)

API_VERSION = "1.0"
"""The path has the major version, the header `API-Version` the minor one."""

_GONE = 499


class Observed:
    """Wraps everything else; what it adds holds for refusals and faults too."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        """Wrap `app`."""
        self._app = app
        self._metrics = metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Hand on, and tell of it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        scope.setdefault("state", {})
        watch = _Watch(send, begin_request(Headers(scope=scope).get("x-request-id")))
        try:
            await self._app(scope, receive, watch.send)
        # The one place that takes every error: a bug becomes a reply, and a log line that says where it is
        # but not what it says, for that may quote a user.
        except Exception as error:  # noqa: BLE001
            LOGGER.error("fault", extra=without_words(error))
            if watch.status is None:
                await ErrorReply(ApiError(500, "internal_error", "a fault of this server"))(
                    scope, receive, watch.send
                )
        finally:
            self._tell(scope, watch)

    def _tell(self, scope: Scope, watch: _Watch) -> None:
        route = getattr(scope.get("route"), "path", "")
        status = watch.status or _GONE
        seconds = time.perf_counter() - watch.began
        self._metrics.answered(method=scope["method"], route=route, status=status, seconds=seconds)
        code = scope["state"].get("error_code", "")
        if code:
            self._metrics.failed(code)
        caller = scope["state"].get("caller")
        told = {"method": scope["method"], "route": route, "status": status, "error_code": code}
        told |= {"key_id": caller.key_id if caller else "", "ms": round(seconds * 1000, 2)}
        LOGGER.info("request", extra=told)


class _Watch:
    """Sees the reply pass, and gives it the headers that all have."""

    def __init__(self, send: Send, request_id: str) -> None:
        self.status: int | None = None
        self.began = time.perf_counter()
        self._send = send
        self._request_id = request_id

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = MutableHeaders(scope=message)
            headers["X-Request-ID"] = self._request_id
            headers["API-Version"] = API_VERSION
            headers["X-Content-Type-Options"] = "nosniff"
            headers.setdefault("Cache-Control", "no-store")
        await self._send(message)
