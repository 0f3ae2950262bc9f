"""Facts: as they are, as they were, and what a person may change."""

from __future__ import annotations

from datetime import datetime

from pydantic import model_validator

from memsif_ray.service.models.words import LocalTime, Model, Text


class Memory(Model):
    """A fact of either track in its latest version.

    Attributes:
        track: `core` or `active`.
        type: CoreFact type, e.g. `Preference`.
        version: Grows by one with every change; the `ETag` of the resource.
        replaced_by: The memory that superseded it or that it was merged into.
    """

    id: str
    conversation_id: str
    track: str
    type: str
    subject: str
    attribute: str
    text: str
    status: str
    version: int
    ingested_at: LocalTime
    event_time: LocalTime | None = None
    valid_from: LocalTime | None = None
    valid_to: LocalTime | None = None
    replaced_by: str | None = None
    message_ids: tuple[str, ...] = ()
    segment_ids: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


class MemoryChange(Model):
    """A correction by a person: written as an Update, the earlier version stays in the history."""

    text: Text | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @model_validator(mode="after")
    def _changes(self) -> MemoryChange:
        if not self.model_fields_set:
            raise ValueError("nothing to change")
        return self


class Successor(Model):
    """What replaces a memory that is no longer true."""

    text: Text
    valid_from: datetime | None = None


class HistoryEntry(Model):
    """One operation on a memory, oldest first."""

    op: str
    text: str
    status: str
    at: LocalTime
    decided_by: str
    reason: str
    targets: tuple[str, ...] = ()
