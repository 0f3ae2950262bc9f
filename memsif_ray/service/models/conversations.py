"""Whole conversations: listed, erased, or taken elsewhere."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import JsonValue

from memsif_ray.service.models.messages import SourceMessage
from memsif_ray.service.models.words import ConversationId, Model


class ConversationOut(Model):
    """One conversation of a tenant."""

    conversation_id: str
    messages: int
    created_at: datetime
    updated_at: datetime
    pending: int = 0


class Erased(Model):
    """What a deletion removed, or with `dry_run` would remove."""

    messages: int = 0
    memories: int = 0
    dry_run: bool = False


class Bundle(Model):
    """Everything about one conversation, to take elsewhere.

    Attributes:
        key: Part of the ids of everything in it, which therefore stay the same.
        embedder: Whose vectors `state` holds.
        state: Rows by table, as the store has them.
    """

    format: Literal["memsif-bundle"] = "memsif-bundle"
    version: Literal[1] = 1
    conversation_id: ConversationId
    key: str
    embedder: str
    messages: tuple[SourceMessage, ...]
    state: dict[str, list[dict[str, JsonValue]]]
