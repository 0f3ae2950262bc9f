"""What became of a write."""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum

from memsif_ray.service.models.errors import ErrorDetail
from memsif_ray.service.models.memories import Memory
from memsif_ray.service.models.words import Model


class OperationStatus(StrEnum):
    """Of a write that was acknowledged before it was digested."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Operation(Model):
    """A write and what became of it.

    Attributes:
        kind: `ingest` or `import`.
        accepted: Messages stored by it.
        duplicates: Messages left out because their ids were known.
        message_ids: Of all messages of the request, in order.
        memories: Of a dry run that waits: the facts as they would be; one that would be new has no id.
        error: Why it failed; a failed write is stored, and is digested by a retry or the next write.
    """

    id: str
    kind: str
    conversation_id: str
    status: OperationStatus
    created_at: datetime
    updated_at: datetime
    accepted: int = 0
    duplicates: int = 0
    message_ids: tuple[str, ...] = ()
    memories: tuple[Memory, ...] = ()
    error: str = ""


class BatchItem(Model):
    """What became of one request of a batch: its operation, or why there is none."""

    operation: Operation | None = None
    error: ErrorDetail | None = None


class BatchResult(Model):
    """One item per request, in order; a failed one does not stop the others."""

    results: tuple[BatchItem, ...]
    failed: int
