"""How what a caller wrote becomes part of a request; what the service would refuse is refused here."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import Annotated, Any, TypeVar
from urllib.parse import quote

from pydantic import BaseModel, StringConstraints, TypeAdapter

from memsif_ray.api.client.errors import ValidationError
from memsif_ray.service import arguments

M = TypeVar("M", bound=BaseModel)

_KEY: TypeAdapter[str] = TypeAdapter(Annotated[str, StringConstraints(pattern=r"^[\x21-\x7e]{1,128}$")])


def checked(model: type[M], **fields: Any) -> M:
    """A request, checked as the server will check it, so that a mistake costs no round trip.

    Raises:
        ValidationError: Naming the argument.
    """
    with _told():
        return arguments.checked(model, **fields)


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
    with _told():
        return arguments.scope(value, argument)


def once(idempotency_key: str | None) -> dict[str, str]:
    """The header by which the server knows a repeated write; a new key unless one is given.

    Raises:
        ValidationError: When the key cannot be a header.
    """
    key = uuid.uuid4().hex if idempotency_key is None else idempotency_key
    with _told():
        return {"Idempotency-Key": arguments.valid(_KEY, key, "idempotency_key")}


def page_limit(page_size: int | None) -> dict[str, int]:
    """The parameter for how many items a page has at most.

    Raises:
        ValidationError: When it is out of range.
    """
    with _told():
        return {} if page_size is None else {"limit": arguments.page_size(page_size)}


def query(**values: Any) -> dict[str, str | int]:
    """Parameters of a URL: those that are not None; times in ISO 8601, truth in lower case."""
    return {name: _plain(value) for name, value in values.items() if value is not None}


def json_body(request: BaseModel, *, given_only: bool = False) -> dict[str, Any]:
    """The JSON of a request, without what is as by default (or without what was not given)."""
    return request.model_dump(mode="json", exclude_defaults=not given_only, exclude_unset=given_only)


@contextmanager
def _told() -> Iterator[None]:
    """Say it as the server would have said it."""
    try:
        yield
    except arguments.BadArgument as exc:
        raise ValidationError(exc.message, code="invalid_request", param=exc.param) from exc


def _plain(value: Any) -> str | int:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, int) else str(value)
