"""What all requests and results are made of: a strict model, clean texts, names and limits."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    WithJsonSchema,
)

from memsif_ray.text import clean, is_blank

MAX_CONTENT = 32_768
MAX_BATCH = 1_000


class Model(BaseModel):
    """Refuses unknown keys, so that a misspelt option is an error and not a silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def cleaned(value: Any) -> Any:
    """JSON data with every text in it cleaned, keys included, so that any store and endpoint accepts it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    return value


def _says_something(text: str) -> str:
    if is_blank(text):
        raise ValueError("must say something")
    return text


Text = Annotated[
    str,
    StringConstraints(max_length=MAX_CONTENT),
    AfterValidator(_says_something),
    BeforeValidator(cleaned),
]
"""Not blank; lone surrogates are replaced and NUL is removed, before anything else looks at it."""
Metadata = Annotated[dict[str, JsonValue], Field(max_length=50), BeforeValidator(cleaned)]
"""Of a message, or what is asked of it: compared as a whole, never interpreted."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f*]+$")]
"""An id or display name from outside: one line, no `*`. It never becomes a path."""
ConversationId = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=200, pattern=r"^\.*[^\x00-\x1f\x7f*/\\.][^\x00-\x1f\x7f*/\\]*$"
    ),
]
"""A `Name` that is one segment of an address: no slash or backslash, and more than dots."""
LocalTime = Annotated[
    datetime,
    WithJsonSchema({"type": "string", "description": "ISO 8601, as a clock there showed it: without a zone"}),
]
"""A time of what was said: in no zone, so not what a JSON schema calls `date-time`."""
Limit = Annotated[int, Field(ge=1, le=1_000)]
Policy = Literal["retain", "merge", "abstract", "rewrite", "auto"]
"""What to do with notes under a token budget (OAS); `auto` asks the trained router."""
