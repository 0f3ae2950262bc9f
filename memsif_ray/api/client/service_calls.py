"""From arguments to requests, beyond single memories: conversations, operations, the tenant."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from memsif_ray.api.client.arguments import checked, json_body, once, query, scope, segment
from memsif_ray.api.client.errors import APITimeoutError
from memsif_ray.api.client.flows import Call, Flow, Pause, Policy, Request
from memsif_ray.api.client.listing import Listing
from memsif_ray.service.models import (
    AuditEntry,
    BatchRequest,
    BatchResult,
    Bundle,
    Candidate,
    ConversationOut,
    Erased,
    IngestRequest,
    Model,
    Operation,
    OperationStatus,
    Page,
    SegmentOut,
    SourceMessage,
    TenantUsage,
    TrajectoryOut,
)

_UNFINISHED = (OperationStatus.PENDING, OperationStatus.RUNNING)
_FIRST_POLL_S, _LONGEST_POLL_S = 0.1, 2.0


class Health(Model):
    """Whether the service can work now: its store and its models answer."""

    status: str


def add_batch(requests: Sequence[IngestRequest], *, idempotency_key: str | None = None) -> Call[BatchResult]:
    """Remember messages of several conversations; one that fails does not stop the others.

    Args:
        requests: Those of one conversation are taken in order.
        idempotency_key: As in `add`.
    """
    batch = checked(BatchRequest, requests=list(requests))
    headers = once(idempotency_key)
    body = json_body(batch)
    return Call("POST", "/v1/memories:batch", BatchResult, body=body, headers=headers, repeatable=True)


def segments(conversation_id: str, *, page_size: int = 100) -> Listing[SegmentOut]:
    """Topical Segments of a conversation, in order."""
    return Listing.of("/v1/segments", Page[SegmentOut], _of(conversation_id), page_size)


def trajectories(conversation_id: str, *, page_size: int = 100) -> Listing[TrajectoryOut]:
    """Event Trajectories of a conversation, by id."""
    return Listing.of("/v1/trajectories", Page[TrajectoryOut], _of(conversation_id), page_size)


def candidates(conversation_id: str, *, page_size: int = 100) -> Listing[Candidate]:
    """Candidate clusters of a conversation with their scores, by id, promoted ones included."""
    return Listing.of("/v1/candidates", Page[Candidate], _of(conversation_id), page_size)


def conversations(*, page_size: int = 100) -> Listing[ConversationOut]:
    """The conversations of this API key's tenant, by id."""
    return Listing.of("/v1/conversations", Page[ConversationOut], page_size=page_size)


def messages(conversation_id: str, *, page_size: int = 100) -> Listing[SourceMessage]:
    """Messages of a conversation, in order."""
    path = f"{_conversation(conversation_id)}/messages"
    return Listing.of(path, Page[SourceMessage], page_size=page_size)


def erase_conversation(conversation_id: str, *, dry_run: bool = False) -> Call[Erased]:
    """Remove everything about a conversation for good.

    Args:
        conversation_id: Which.
        dry_run: Say what would be removed, and remove nothing.
    """
    asked = query(dry_run=dry_run or None)
    return Call("DELETE", _conversation(conversation_id), Erased, query=asked, repeatable=True)


def export(conversation_id: str) -> Call[Bundle]:
    """Everything about a conversation, to take elsewhere."""
    return Call("GET", "/v1/export", Bundle, query=_of(conversation_id), repeatable=True)


def import_(bundle: Bundle) -> Call[Operation]:
    """Take over a conversation; ids stay the same."""
    return Call("POST", "/v1/import", Operation, body=bundle.model_dump(mode="json"))


def usage(*, since: datetime | None = None) -> Call[TenantUsage]:
    """What this API key's tenant has used."""
    return Call("GET", "/v1/usage", TenantUsage, query=query(since=since), repeatable=True)


def audit(*, page_size: int = 100) -> Listing[AuditEntry]:
    """Who did what, newest first."""
    return Listing.of("/v1/audit", Page[AuditEntry], page_size=page_size)


def health() -> Call[Health]:
    """Whether the service is ready now; raises UnavailableError with the reason when it is not."""
    return Call("GET", "/health/ready", Health, once=True)


def operation(operation_id: str) -> Call[Operation]:
    """What became of a write."""
    return Call("GET", _operation(operation_id), Operation, repeatable=True)


def cancel(operation_id: str) -> Call[Operation]:
    """Cancel a write that is not being digested yet; its messages are taken back."""
    return Call("POST", f"{_operation(operation_id)}/cancel", Operation)


def retry(operation_id: str) -> Call[Operation]:
    """Digest a failed write again."""
    return Call("POST", f"{_operation(operation_id)}/retry", Operation)


def wait(operation_id: str, *, timeout: float = 600.0) -> Waiting:
    """Wait until a write is digested.

    Args:
        operation_id: Which.
        timeout: Seconds; raises APITimeoutError when it is not done by then.

    Returns:
        The operation as it ended: `status` is `done`, `failed` or `cancelled`.
    """
    return Waiting(operation(operation_id), timeout)


@dataclass(frozen=True)
class Waiting(Request[Operation]):
    """Ask again and again, less and less often."""

    call: Call[Operation]
    timeout_s: float

    def flow(self, policy: Policy) -> Flow[Operation]:
        """Until it has ended."""
        deadline = time.monotonic() + self.timeout_s
        pause_s = _FIRST_POLL_S
        while True:
            current = yield from self.call.flow(policy)
            if current.status not in _UNFINISHED:
                return current
            if pause_s >= deadline - time.monotonic():
                text = f"operation {current.id} is still {current.status} after {self.timeout_s:g} s"
                raise APITimeoutError(text, code="timeout")
            yield Pause(pause_s)
            pause_s = min(_LONGEST_POLL_S, pause_s * 1.5)


def _of(conversation_id: str) -> dict[str, str | int]:
    return query(conversation_id=scope(conversation_id))


def _conversation(conversation_id: str) -> str:
    return f"/v1/conversations/{segment(conversation_id, 'conversation_id')}"


def _operation(operation_id: str) -> str:
    return f"/v1/operations/{segment(operation_id, 'operation_id')}"
