"""Facts of both tracks, and the log that they are folded from (MemSIF 3.3, 3.4)."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Track(StrEnum):
    """Which of the two tracks a fact belongs to (MemSIF 3.3, 3.4)."""

    CORE = "core"
    ACTIVE = "active"


class Op(StrEnum):
    """Operations on facts. The current view is the fold of their rows; none rewrites an earlier one."""

    ADD = "Add"
    UPDATE = "Update"
    MERGE = "Merge"
    SUPERSEDE = "Supersede"
    PROMOTE = "Promote"
    REJECT = "Reject"
    RETRACT = "Retract"
    """A person takes a fact out of use; its history stays, and `Restore` undoes it."""
    RESTORE = "Restore"


@dataclass(frozen=True, slots=True)
class Fact:
    """One version of a fact, traceable to messages.

    Bi-temporal: `ingested_at` says when memory learned it (the time of the message that taught it),
    `valid_from`/`valid_to` when it holds in the world. `status` is `active`, `superseded`, `merged`,
    `retracted` (by a person), or `erased`: then only its id, its times and its place in the log are left.
    """

    fact_id: str
    track: Track
    subject: str
    type: str
    attribute: str
    statement: str
    message_ids: tuple[str, ...]
    segment_ids: tuple[str, ...]
    ingested_at: datetime
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    status: str = "active"
    replaced_by: str | None = None
    query_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactOperation:
    """One row of the append-only fact log.

    Attributes:
        seq: Position in the conversation's log, from 0.
        op: What happened.
        fact: The version written (for `Reject`: the refused candidate, never visible in a view).
        targets: Ids of the facts it updates, merges or supersedes.
        decided_by: `llm`, `rule`, `fallback` or `user`.
        reason: In words; for `Reject` why it was refused.
    """

    seq: int
    op: Op
    fact: Fact
    targets: tuple[str, ...] = ()
    decided_by: str = "rule"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CandidateCluster:
    """C = (s, X, Q, R) of MemSIF 3.4: subject, statements, triggering queries, source units."""

    cluster_id: str
    subject: str
    statements: tuple[str, ...]
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    sources: tuple[str, ...]
    message_ids: tuple[str, ...]
    first_seen: datetime
    last_seen: datetime
    promoted_fact_id: str | None = None
