"""What a call can fail with; every error knows its HTTP status, the server's code and the request id.

```text
APIError (a MemsifError)
├── APIConnectionError           nobody answered
│   └── APITimeoutError          not in time; also 408, 499 and 504
├── UnexpectedReplyError         answered, but not by a memory service that this client understands
├── BadRequestError              400 and whatever else blames the request
├── AuthenticationError          401
├── PermissionDeniedError        403
├── NotFoundError                404; also a memsif_ray.errors.NotFound
├── ConflictError                409, 412; also a memsif_ray.errors.Conflict
├── RequestTooLargeError         413
├── ValidationError              422, or refused before it was sent (then without a status);
│                                also a memsif_ray.errors.DataError
├── RateLimitError               429
└── ServerError                  5xx
    ├── ProviderError              502: a model behind the service failed
    └── UnavailableError           503: not ready, or too busy
```
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from memsif_ray.clients.retries import retry_after_s
from memsif_ray.errors import Conflict, DataError, MemsifError, NotFound

_EXCERPT = 200


class APIError(MemsifError):
    """A call to the service failed.

    Attributes:
        message: For a person.
        status: HTTP status; None when there was no reply.
        code: The server's word for it, e.g. `not_found`; "" when it gave none.
        request_id: In the server's logs too.
        param: Which argument is to blame, if the server says so.
        retry_after_s: When the server wants to be asked again.
        attempts: How often the request was sent; 0 when it never was.
    """

    def __init__(
        self,
        message: str,
        status: int | None = None,
        code: str = "",
        request_id: str = "",
        param: str | None = None,
        retry_after_s: float | None = None,
    ) -> None:
        """Keep all arguments in `args`, so that pickling restores them."""
        super().__init__(message, status, code, request_id, param, retry_after_s)
        self.message = message
        self.status = status
        self.code = code
        self.request_id = request_id
        self.param = param
        self.retry_after_s = retry_after_s
        self.attempts = 0

    def __str__(self) -> str:
        """Status, code, text, and what to look for in the log."""
        head = " ".join(part for part in (str(self.status or ""), self.code) if part)
        tail = f" (request {self.request_id})" if self.request_id else ""
        return f"{head}: {self.message}{tail}" if head else f"{self.message}{tail}"


class APIConnectionError(APIError):
    """Nobody answered: no server at that address, or the connection broke."""


class APITimeoutError(APIConnectionError):
    """No answer in time, all tries and pauses together."""


class UnexpectedReplyError(APIError):
    """The reply is not what a memory service sends; the address is probably another server's."""


class BadRequestError(APIError):
    """The request does not make sense, e.g. a scope that is none."""


class AuthenticationError(APIError):
    """The API key is missing or unknown."""


class PermissionDeniedError(APIError):
    """The API key may not do this."""


class NotFoundError(APIError, NotFound):
    """There is nothing of that id for this API key."""


class ConflictError(APIError, Conflict):
    """Somebody changed it first, or it is not in a state that allows this."""


class RequestTooLargeError(APIError):
    """More than the service takes at once."""


class ValidationError(APIError, DataError):
    """An argument is not what it should be."""


class RateLimitError(APIError):
    """Too many requests."""


class ServerError(APIError):
    """The service failed."""


class ProviderError(ServerError):
    """A model behind the service failed; `code` is the provider's."""


class UnavailableError(ServerError):
    """The service is not ready, or too busy."""


_BY_STATUS: Mapping[int, type[APIError]] = {
    401: AuthenticationError,
    403: PermissionDeniedError,
    404: NotFoundError,
    408: APITimeoutError,
    409: ConflictError,
    412: ConflictError,
    413: RequestTooLargeError,
    422: ValidationError,
    429: RateLimitError,
    499: APITimeoutError,
    502: ProviderError,
    503: UnavailableError,
    504: APITimeoutError,
}


def error_of(status: int, headers: Mapping[str, str], body: bytes, *, request_id: str) -> APIError:
    """The error that a reply other than 2xx means.

    Args:
        status: HTTP status.
        headers: Their names in lower case, or a mapping that does not mind.
        body: In the OpenAI shape `{"error": {…}}`; anything else (a proxy's page) is quoted.
        request_id: The one that was sent, for servers that do not mirror it.
    """
    told = _told(body)
    text = told.get("message") or body[:_EXCERPT].decode(errors="replace") or f"HTTP status {status}"
    return _kind(status)(
        str(text),
        status,
        str(told.get("code") or told.get("type") or ""),
        str(told.get("request_id") or headers.get("x-request-id") or request_id),
        told.get("param"),
        retry_after_s(headers.get("retry-after")),
    )


def _kind(status: int) -> type[APIError]:
    if status < 400:
        return UnexpectedReplyError
    return _BY_STATUS.get(status) or (BadRequestError if status < 500 else ServerError)


def _told(body: bytes) -> dict[str, Any]:
    try:
        document = json.loads(body)
    except ValueError:
        return {}
    told = document.get("error") if isinstance(document, dict) else None
    return told if isinstance(told, dict) else {}
