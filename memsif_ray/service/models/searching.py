"""A search of one conversation's memory."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, JsonValue, model_validator

from memsif_ray.service.models.accounts import Usage
from memsif_ray.service.models.messages import SourceMessage
from memsif_ray.service.models.words import ConversationId, LocalTime, Metadata, Model, Name, Policy, Text


class SearchRequest(Model):
    """What memory would show for a query: at most `top_k` results, or as many as `max_tokens` hold.

    Attributes:
        types: Kinds of results (`core`, `active`, `evidence`, `message`) or CoreFact types; empty = all.
        as_of: As memory was then.
        valid_at: What held then.
        filters: Only what rests on messages whose metadata has all of these values, on no others.
        consolidation: What to do with notes that exceed `max_tokens`; wants `max_tokens`.
        include: More of each result: where it comes from, and how it was found.
    """

    conversation_id: ConversationId
    query: Text
    top_k: Annotated[int, Field(ge=1, le=200)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] | None = None
    types: tuple[Name, ...] = ()
    as_of: datetime | None = None
    valid_at: datetime | None = None
    filters: Metadata = Field(default_factory=dict)
    consolidation: Policy | None = None
    include: frozenset[Literal["provenance", "trace"]] = frozenset()

    @model_validator(mode="after")
    def _one_limit(self) -> SearchRequest:
        if self.top_k is not None and self.max_tokens is not None:
            raise ValueError("give top_k or max_tokens, not both")
        if self.consolidation is not None and self.max_tokens is None:
            raise ValueError("consolidation wants max_tokens")
        return self


class Found(Model):
    """One result of a search, or one piece of evidence of an answer.

    Attributes:
        id: Of the memory; of the first message for evidence that is no stored memory.
        type: `core`, `active`, `evidence`, `message`, or what packing made of several.
        score_parts: What the score is made of, by name.
        message_ids: What it rests on.
        provenance: Those messages; only when asked for.
    """

    id: str
    type: str
    text: str
    score: float
    score_parts: dict[str, float] = {}
    message_ids: tuple[str, ...] = ()
    event_time: LocalTime | None = None
    ingested_at: LocalTime | None = None
    valid_from: LocalTime | None = None
    valid_to: LocalTime | None = None
    status: str = "active"
    provenance: tuple[SourceMessage, ...] | None = None


class SearchResult(Model):
    """Results, best first.

    Attributes:
        pending: Writes to this conversation that are stored but not digested yet.
        trace: Decisions made on the way; only when asked for.
    """

    results: tuple[Found, ...]
    next_cursor: str | None = None
    usage: Usage = Usage()
    pending: int = 0
    trace: tuple[dict[str, JsonValue], ...] | None = None
