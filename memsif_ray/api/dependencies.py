"""What the routes ask for."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, Depends, Header, Query, Request, Security
from fastapi import Path as InPath
from fastapi.security import HTTPBearer

from memsif_ray.api.bodies import StrictRoute
from memsif_ray.api.errors import DOCUMENTED, ApiError
from memsif_ray.api.metrics import Metrics
from memsif_ray.api.settings import ApiSettings
from memsif_ray.service.backend import Backend, Caller, Paging
from memsif_ray.service.models import ConversationId, Limit

_BEARER = HTTPBearer(auto_error=False, description="An API key: `Authorization: Bearer msk_…`")
"""For the manual at `/docs` only; `auth.Authenticated` has checked the key before."""


def router(tag: str) -> APIRouter:
    """A router whose routes want a key, read bodies strictly, and say which errors they give."""
    return APIRouter(
        tags=[tag], route_class=StrictRoute, responses=DOCUMENTED, dependencies=[Security(_BEARER)]
    )


# Coroutines, though they wait for nothing: FastAPI calls a plain function in another thread, and a search
# would change threads three times before anything is done for it.


async def _backend(request: Request) -> Backend:
    backend: Backend = request.app.state.backend
    return backend


async def _caller(request: Request) -> Caller:
    caller: Caller = request.state.caller
    return caller


async def _settings(request: Request) -> ApiSettings:
    settings: ApiSettings = request.app.state.settings
    return settings


async def _metrics(request: Request) -> Metrics:
    metrics: Metrics = request.app.state.metrics
    return metrics


async def _paging(
    limit: Annotated[Limit, Query(description="Most items of this page")] = 100,
    cursor: Annotated[
        str | None, Query(max_length=1_000, description="`next_cursor` of the page before")
    ] = None,
) -> Paging:
    return Paging(limit=limit, cursor=cursor)


async def _version_wanted(
    if_match: Annotated[
        str | None, Header(description="The `ETag` that the change is meant for; `*` or none = any")
    ] = None,
) -> int | None:
    if if_match is None or if_match.strip() == "*":
        return None
    tag = if_match.strip().removeprefix('"').removesuffix('"')
    if not (tag.isascii() and tag.isdecimal() and len(tag) < 10):
        raise ApiError(400, "bad_etag", 'If-Match wants one ETag of a memory, e.g. "3"', param="If-Match")
    return int(tag)


def etag(version: int) -> str:
    """The `ETag` of a memory's version."""
    return f'"{version}"'


BackendOf = Annotated[Backend, Depends(_backend)]
CallerOf = Annotated[Caller, Depends(_caller)]
SettingsOf = Annotated[ApiSettings, Depends(_settings)]
MetricsOf = Annotated[Metrics, Depends(_metrics)]
PagingOf = Annotated[Paging, Depends(_paging)]
VersionWanted = Annotated[int | None, Depends(_version_wanted)]

_ID = r"^[A-Za-z0-9][A-Za-z0-9_.:-]{0,199}$"
MemoryId = Annotated[str, InPath(pattern=_ID, description="`mem_…`")]
OperationId = Annotated[str, InPath(pattern=_ID, description="`op_…`")]
ConversationInPath = Annotated[ConversationId, InPath(description="Your own name for it")]
ConversationInQuery = Annotated[ConversationId, Query(description="Which conversation; there is no “all”")]
IdempotencyKey = Annotated[
    str | None,
    Header(
        min_length=1,
        max_length=128,
        pattern=r"^[\x21-\x7e]+$",
        description="Repeat a request with its key, and it is applied once",
    ),
]
DryRun = Annotated[bool, Query(description="Say what would happen, and change nothing")]
