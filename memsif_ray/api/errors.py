"""Every error leaves in one shape, whoever raised it: OpenAI's, so that one parser fits both families."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic_core import ErrorDetails
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from memsif_ray.errors import (
    Conflict,
    DataError,
    EmbedderMismatch,
    MemsifError,
    NotFound,
    ReplyInvalid,
    RequestRefused,
    ServiceBusy,
    ServiceError,
)
from memsif_ray.logs import request_id
from memsif_ray.service.models import ErrorDetail, ErrorOut

_TYPES = {
    401: "authentication_error",
    403: "permission_error",
    404: "not_found_error",
    409: "conflict_error",
    429: "rate_limit_error",
}
_CODES = {
    400: "bad_request",
    401: "invalid_api_key",
    404: "not_found",
    405: "method_not_allowed",
    413: "body_too_large",
    500: "internal_error",
}
_OF_DOMAIN: tuple[tuple[type[MemsifError], int, str], ...] = (
    (NotFound, 404, "not_found"),
    (Conflict, 409, "conflict"),
    (EmbedderMismatch, 409, "embedder_mismatch"),
    (DataError, 422, "invalid_data"),
)
_CALLERS_FAULT = frozenset({"context_length_exceeded", "content_filter"})
_BUSY_S = 1
"""Suggested pause where nobody knows a better one."""

DOCUMENTED: dict[int | str, dict[str, Any]] = {
    status: {"model": ErrorOut, "description": meaning}
    for status, meaning in {
        400: "The scope or a header is wrong",
        401: "No valid API key",
        403: "The request names a tenant itself",
        404: "Nothing of that id exists for this key",
        409: "It changed meanwhile, or is used for something else",
        413: "The body is too large",
        422: "The request does not fit the schema",
        429: "Too many requests; see Retry-After",
        500: "A fault of this server",
        502: "The model failed; `code` is its own",
        503: "Busy or not ready; see Retry-After",
        504: "It took too long",
    }.items()
}


class ApiError(HTTPException):
    """A refusal that HTTP itself is the reason for."""

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        param: str | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Say what is wrong in a sentence that quotes nothing secret."""
        super().__init__(status, message, dict(headers or {}))
        self.code = code
        self.param = param


def busy(status: int, code: str, message: str, *, retry_after_s: float | None = None) -> ApiError:
    """A refusal that a later request may escape: 429 or 503 with `Retry-After` in whole seconds."""
    pause = str(math.ceil(max(retry_after_s or _BUSY_S, 1)))
    return ApiError(status, code, message, headers={"Retry-After": pause})


def as_api_error(error: MemsifError) -> ApiError:
    """How an error of the domain looks from outside."""
    if isinstance(error, ServiceError):
        return _of_service(error)
    if isinstance(error, ReplyInvalid):
        return ApiError(502, f"reply_{error.reason}", "the model's reply cannot be used")
    for kind, status, code in _OF_DOMAIN:
        if isinstance(error, kind):
            return ApiError(status, code, str(error) or code.replace("_", " "))
    return ApiError(500, "internal_error", "a fault of this server")


def _of_service(error: ServiceError) -> ApiError:
    if isinstance(error, ServiceBusy):
        return _of_busy(error)
    status = 400 if isinstance(error, RequestRefused) and error.code in _CALLERS_FAULT else 502
    return ApiError(status, error.code or "model_failed", error.message)


def _of_busy(error: ServiceBusy) -> ApiError:
    if error.code == "timeout":
        return ApiError(504, "timeout", error.message)
    status = 429 if error.code in ("queue_full", "http_429", "rate_limit_exceeded") else 503
    return busy(status, error.code or "busy", error.message, retry_after_s=error.retry_after_s)


def detail(error: ApiError) -> ErrorDetail:
    """The error as a value, with the id of the request that met it."""
    kind = _TYPES.get(error.status_code) or (
        "api_error" if error.status_code >= 500 else "invalid_request_error"
    )
    return ErrorDetail(
        type=kind, code=error.code, message=error.detail, param=error.param, request_id=request_id()
    )


class ErrorReply(JSONResponse):
    """An error as a response; tells its code to whoever counts errors, in `request.state.error_code`."""

    def __init__(self, error: ApiError) -> None:
        """Made within the request that met the error, whose id it bears."""
        body = ErrorOut(error=detail(error)).model_dump()
        super().__init__(body, status_code=error.status_code, headers=error.headers)
        self._code = error.code

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send it."""
        scope.setdefault("state", {})["error_code"] = self._code
        await super().__call__(scope, receive, send)


def install(app: FastAPI) -> None:
    """Let no error leave the app in another shape."""
    app.add_exception_handler(HTTPException, _on_http)
    app.add_exception_handler(RequestValidationError, _on_validation)
    app.add_exception_handler(MemsifError, _on_domain)


async def _on_http(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, HTTPException)
    if isinstance(error, ApiError):
        return ErrorReply(error)
    status = error.status_code
    code = _CODES.get(status) or re.sub(r"\W+", "_", HTTPStatus(status).phrase.lower())
    message = f"there is no {request.method} {_known(request)}" if status in (404, 405) else error.detail
    return ErrorReply(ApiError(status, code, message, headers=error.headers))


def _known(request: Request) -> str:
    return request.url.path if len(request.url.path) <= 200 else "address of that length"


async def _on_domain(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, MemsifError)
    return ErrorReply(as_api_error(error))


async def _on_validation(request: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    return ErrorReply(refusal(error.errors()))


def refusal(problems: Iterable[ErrorDetails | dict[str, Any]]) -> ApiError:
    """The first problem of a validation, without what was sent: it may be somebody's message."""
    problem = next(iter(problems))
    param = ".".join(map(str, problem["loc"][1:])) or None  # before it: body, query, path or header
    message = f"{param}: {problem['msg']}" if param else str(problem["msg"])
    if _is_about_scope(problem):
        return ApiError(400, "bad_scope", f"{message}; name one conversation", param=param)
    return ApiError(422, "invalid_request", message, param=param)


def _is_about_scope(problem: ErrorDetails | dict[str, Any]) -> bool:
    """Whether a request is for everything, by leaving the conversation out or by a wildcard."""
    if not problem["loc"] or problem["loc"][-1] != "conversation_id":
        return False
    return problem["type"] == "missing" or "*" in str(problem.get("input"))
