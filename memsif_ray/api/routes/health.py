"""For whoever operates the service. No key is needed, and nothing of a tenant is shown."""

from __future__ import annotations

import asyncio
import time
from typing import Annotated, Literal

from fastapi import APIRouter, Depends, Request, Response

from memsif_ray import __version__
from memsif_ray.api.bodies import StrictRoute
from memsif_ray.api.dependencies import BackendOf, MetricsOf
from memsif_ray.api.errors import DOCUMENTED, busy
from memsif_ray.api.observing import API_VERSION
from memsif_ray.errors import ServiceError
from memsif_ray.service.backend import Backend
from memsif_ray.service.models import Model

ROUTER = APIRouter(tags=["Health"], route_class=StrictRoute, responses={503: DOCUMENTED[503]})


class Health(Model):
    """That it works."""

    status: Literal["alive", "ready"]


class Version(Model):
    """Which software, and which minor version of the API it speaks."""

    version: str
    api: str


class Readiness:
    """Asks a backend whether it works, once for all who want to know, and not too often.

    Raises of `check` pass through; a failure is remembered as long as a success.
    """

    def __init__(self, backend: Backend, *, cache_s: float, timeout_s: float) -> None:
        """Nothing is known yet."""
        self._backend = backend
        self._cache_s = cache_s
        self._timeout_s = timeout_s
        self._known_until = float("-inf")
        self._fault: str | None = None
        self._asking = asyncio.Lock()

    async def fault(self) -> str | None:
        """What does not answer; None when all is well."""
        async with self._asking:
            if time.monotonic() >= self._known_until:
                self._fault = await self._ask()
                self._known_until = time.monotonic() + self._cache_s
            return self._fault

    async def _ask(self) -> str | None:
        try:
            async with asyncio.timeout(self._timeout_s):
                await self._backend.check()
        except ServiceError as error:
            return str(error)
        except TimeoutError:
            return "the store or a model does not answer in time"
        return None


async def _readiness(request: Request) -> Readiness:
    readiness: Readiness = request.app.state.readiness
    return readiness


@ROUTER.get("/health/live", summary="Whether the process runs")
async def live() -> Health:
    """Touches nothing: a failing store is no reason to restart the process."""
    return Health(status="alive")


@ROUTER.get("/health/ready", summary="Whether requests can be served")
async def ready(request: Request, readiness: Annotated[Readiness, Depends(_readiness)]) -> Health:
    """Touches the store and every model. `503` names the part that does not answer."""
    if request.app.state.work.draining:
        raise busy(503, "shutting_down", "this server is shutting down")
    fault = await readiness.fault()
    if fault is not None:
        raise busy(503, "not_ready", fault)
    return Health(status="ready")


@ROUTER.get("/metrics", summary="Prometheus metrics", response_class=Response)
async def metrics(backend: BackendOf, metrics: MetricsOf) -> Response:
    """Requests, latency, tokens, queue, live conversations, failures by code."""
    return Response(await metrics.text(backend), media_type="text/plain; version=0.0.4; charset=utf-8")


@ROUTER.get("/version", summary="Which version this is")
async def version() -> Version:
    """Of the software and of the API."""
    return Version(version=__version__, api=API_VERSION)
