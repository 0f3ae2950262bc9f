"""What a caller of memory may write in Python, over HTTP or in process, and how it is checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Final, Literal, TypeAlias, TypeVar

import pydantic
from pydantic import BaseModel, TypeAdapter

from memsif_ray.errors import DataError
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
_LIMIT: TypeAdapter[int] = TypeAdapter(Limit)


class BadArgument(DataError):
    """An argument is not what it should be; `param` is its name, if one is to blame."""

    def __init__(self, message: str, param: str | None = None) -> None:
        """Keep both in `args`, so that pickling restores them."""
        super().__init__(message, param)
        self.message, self.param = message, param

    def __str__(self) -> str:
        """What is wrong, beginning with the argument's name."""
        return self.message


def checked(model: type[M], **fields: Any) -> M:
    """A request, with all its rules.

    Raises:
        BadArgument: Naming the argument.
    """
    try:
        return model.model_validate(fields)
    except pydantic.ValidationError as exc:
        raise _bad(exc, "") from exc


def scope(value: str, argument: str = "conversation_id") -> str:
    """A name that stands for one thing: not empty, no wildcard.

    Raises:
        BadArgument: Naming the argument.
    """
    return valid(_ID, value, argument)


def page_size(value: int) -> int:
    """How many items a page may have.

    Raises:
        BadArgument: When it is out of range.
    """
    return valid(_LIMIT, value, "page_size")


def valid(adapter: TypeAdapter[T], value: T, argument: str) -> T:
    """The value of one argument, if it has the type's form.

    Raises:
        BadArgument: When it has not.
    """
    try:
        return adapter.validate_python(value)
    except pydantic.ValidationError as exc:
        raise _bad(exc, argument) from exc


def listed(messages: Messages) -> list[MessageLike]:
    """Several messages, also when there is one."""
    return [messages] if isinstance(messages, str | Mapping | MessageIn) else [*messages]


def given(**values: Any) -> dict[str, Any]:
    """Those that are not `UNSET`."""
    return {name: value for name, value in values.items() if value is not UNSET}


def _bad(exc: pydantic.ValidationError, argument: str) -> BadArgument:
    first = exc.errors(include_url=False, include_input=False)[0]
    param = argument or ".".join(str(part) for part in first["loc"]) or None
    return BadArgument(f"{param}: {first['msg']}" if param else first["msg"], param)
