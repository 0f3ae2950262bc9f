"""Messages, as they are given and as they are kept."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import Field, JsonValue, model_validator

from memsif_ray.service.models.words import MAX_BATCH, ConversationId, LocalTime, Metadata, Model, Name, Text


class MessageIn(Model):
    """A turn to remember.

    Attributes:
        id: The caller's own; a known one is not added again. By default its digest and place.
        name: Speaker; by default the role.
        timestamp: By default the time of arrival.
        session: Groups turns of one sitting; by default a pause of six hours begins another.
        metadata: Kept and given back; a search may be confined to some of its values.
    """

    content: Text
    role: Literal["user", "assistant"] = "user"
    name: Name | None = None
    timestamp: datetime | None = None
    id: Name | None = None
    session: Name | None = None
    metadata: Metadata = Field(default_factory=dict)


class IngestRequest(Model):
    """Messages of one conversation, in order; a text or a single message will do.

    Attributes:
        wait: Answer when memory has digested them, instead of when they are stored.
        dry_run: Store nothing. Say what would be accepted and, with `wait`, which facts memory would write,
            for which it asks its models.
    """

    conversation_id: ConversationId
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=MAX_BATCH)]
    wait: bool = False
    dry_run: bool = False

    @model_validator(mode="before")
    @classmethod
    def _several(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        messages = given.get("messages")
        if isinstance(messages, str | dict | MessageIn):
            messages = [messages]
        if isinstance(messages, list):
            messages = [{"content": m} if isinstance(m, str) else m for m in messages]
        return {**given, "messages": messages}


class BatchRequest(Model):
    """Several ingests; those of one conversation are taken in order, those of different ones side by side."""

    requests: Annotated[list[IngestRequest], Field(min_length=1, max_length=100)]


class SourceMessage(Model):
    """A message as it was given."""

    id: str
    position: int
    session: int
    role: str
    name: str
    content: str
    timestamp: LocalTime
    metadata: dict[str, JsonValue] = {}
