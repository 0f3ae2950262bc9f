"""What a caller may write, and how it becomes part of a request."""

from __future__ import annotations

import uuid
from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Annotated, Any, Final, Literal, TypeAlias, TypeVar
from urllib.parse import quote

import pydantic
from pydantic import BaseModel, StringConstraints, TypeAdapter

from memsif_ray.api.client.errors import ValidationError
from memsif_ray.service.models import ConversationId, Limit, MessageIn

M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

MessageLike: TypeAlias = str | Mapping[str, Any] | MessageIn
"""A text, a mapping with `content` (and `role`, `name`, `timestamp`, `id`, `metadata`), or a `MessageIn`."""
Messages: TypeAlias = MessageLike | Sequence[MessageLike]


class Unset(Enum):
    """The type of `UNSET`."""

    UNSET = "unset"


UNSET: Final[Literal[Unset.UNSET]] = Unset.UNSET
"""Leave as it is; None takes the value away."""

_ID: TypeAdapter[str] = TypeAdapter(ConversationId)
_KEY: TypeAdapter[str] = TypeAdapter(Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,128}$")])
_LIMIT: TypeAdapter[int] = TypeAdapter(Limit)


def checked(model: type[M], **fields: Any) -> M:
    """A request, checked as the server will check it, so that a mistake costs no round trip.

    Raises:
        ValidationError: Naming the argument.
    """
    try:
        return model.model_validate(fields)
    except pydantic.ValidationError as exc:
        raise _invalid(exc, "") from exc


def segment(value: str, argument: str) -> str:
    """An id as a segment of a path. An empty one, or dots, would address something else.

    Raises:
        ValidationError: Naming the argument.
    """
    return quote(scope(value, argument), safe="")


def scope(value: str, argument: str = "conversation_id") -> str:
    """A name that stands for one thing: not empty, no wildcard.

    Raises:
        ValidationError: Naming the argument.
    """
    return _valid(_ID, value, argument)


def once(idempotency_key: str | None) -> dict[str, str]:
    """The header by which the server knows a repeated write; a new key unless one is given.

    Raises:
        ValidationError: When the key cannot be a header.
    """
    key = uuid.uuid4().hex if idempotency_key is None else idempotency_key
    return {"Idempotency-Key": _valid(_KEY, key, "idempotency_key")}


def page_limit(page_size: int | None) -> dict[str, int]:
    """The parameter for how many items a page has at most.

    Raises:
        ValidationError: When it is out of range.
    """
    return {} if page_size is None else {"limit": _valid(_LIMIT, page_size, "page_size")}


def listed(messages: Messages) -> list[MessageLike]:
    """Several messages, also when there is one."""
    return [messages] if isinstance(messages, str | Mapping | MessageIn) else [*messages]


def query(**values: Any) -> dict[str, str | int]:
    """Parameters of a URL: those that are not None; times in ISO 8601, truth in lower case."""
    return {name: _plain(value) for name, value in values.items() if value is not None}


def json_body(request: BaseModel, *, given_only: bool = False) -> dict[str, Any]:
    """The JSON of a request, without what is as by default (or without what was not given)."""
    return request.model_dump(mode="json", exclude_defaults=not given_only, exclude_unset=given_only)


def _valid(adapter: TypeAdapter[T], value: T, argument: str) -> T:
    try:
        return adapter.validate_python(value)
    except pydantic.ValidationError as exc:
        raise _invalid(exc, argument) from exc


def _plain(value: Any) -> str | int:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)


def _invalid(exc: pydantic.ValidationError, argument: str) -> ValidationError:
    first = exc.errors(include_url=False, include_input=False)[0]
    param = argument or ".".join(str(part) for part in first["loc"]) or None
    text = f"{param}: {first['msg']}" if param else first["msg"]
    return ValidationError(text, code="invalid_request", param=param)
