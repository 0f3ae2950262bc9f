"""A question that is answered from memory."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from pydantic import Field

from memsif_ray.service.models.accounts import Usage
from memsif_ray.service.models.searching import Found
from memsif_ray.service.models.words import ConversationId, Model, Policy, Text


class AnswerRequest(Model):
    """A question to answer from memory.

    Attributes:
        learn: Let the question's evidence grow into ActiveFacts.
        asked_at: For relative dates; by default now.
        max_tokens: Budget of the evidence shown to the model.
    """

    conversation_id: ConversationId
    question: Text
    learn: bool = True
    asked_at: datetime | None = None
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] | None = None
    consolidation: Policy | None = None


class AnswerResult(Model):
    """An answer and what it rests on.

    Attributes:
        answer: None when the model gave none that can be used; then `error` says why.
        sufficient: Whether stored facts were enough, so that no message had to be read.
        promoted: Memories that this question brought about.
    """

    answer: str | None
    error: str = ""
    evidence: tuple[Found, ...]
    sufficient: bool
    promoted: tuple[str, ...] = ()
    usage: Usage = Usage()
    pending: int = 0
