"""`Client` and `AsyncClient`: the memory service from Python. Needs httpx and pydantic, nothing heavier."""

from memsif_ray.api.client.clients import API_KEY_ENV, BASE_URL_ENV, AsyncClient, Client
from memsif_ray.api.client.errors import (
    APIConnectionError,
    APIError,
    APITimeoutError,
    AuthenticationError,
    BadRequestError,
    ConflictError,
    NotFoundError,
    PermissionDeniedError,
    ProviderError,
    RateLimitError,
    RequestTooLargeError,
    ServerError,
    UnavailableError,
    UnexpectedReplyError,
    ValidationError,
)

__all__ = [
    "API_KEY_ENV",
    "BASE_URL_ENV",
    "APIConnectionError",
    "APIError",
    "APITimeoutError",
    "AsyncClient",
    "AuthenticationError",
    "BadRequestError",
    "Client",
    "ConflictError",
    "NotFoundError",
    "PermissionDeniedError",
    "ProviderError",
    "RateLimitError",
    "RequestTooLargeError",
    "ServerError",
    "UnavailableError",
    "UnexpectedReplyError",
    "ValidationError",
]
