"""Values of memory in the words of the API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from memsif_ray.config import ActiveFactConfig
from memsif_ray.memory.activefacts import Scores
from memsif_ray.memory.facts import fold
from memsif_ray.memory.view import MemoryView
from memsif_ray.service import ids
from memsif_ray.service.models import (
    Candidate,
    HistoryEntry,
    Memory,
    SegmentOut,
    SourceMessage,
    TrajectoryOut,
)
from memsif_ray.service.store import ConversationRow, StoredMessage
from memsif_ray.types import CandidateCluster, Fact, FactOperation, Op, Segment, Trajectory


def source_message(stored: StoredMessage) -> SourceMessage:
    """A message as it was given."""
    return SourceMessage(
        id=stored.message_id,
        position=stored.position,
        session=stored.session,
        role=stored.role,
        name=stored.name,
        content=stored.content,
        timestamp=stored.timestamp,
        metadata=dict(stored.metadata),
    )


def sources(message_ids: Iterable[str], known: Mapping[str, StoredMessage]) -> tuple[SourceMessage, ...]:
    """The messages of these ids, in order of position."""
    found = [known[message_id] for message_id in message_ids if message_id in known]
    return tuple(source_message(m) for m in sorted(found, key=lambda m: m.position))


def versions(view: MemoryView) -> Counter[str]:
    """Fact id → how many operations touched it."""
    return Counter(
        fact_id
        for operation in view.operations()
        if operation.op is not Op.REJECT
        for fact_id in {operation.fact.fact_id, *operation.targets}
    )


def memory_out(fact: Fact, row: ConversationRow, *, version: int, queries: Mapping[str, str]) -> Memory:
    """A fact as a resource; `queries` gives the texts of questions by id."""
    return Memory(
        id=ids.memory_id(row.key, fact.fact_id),
        conversation_id=row.conversation_id,
        track=fact.track.value,
        type=fact.type,
        subject=fact.subject,
        attribute=fact.attribute,
        text=fact.statement,
        status=fact.status,
        version=version,
        ingested_at=fact.ingested_at,
        event_time=fact.event_time,
        valid_from=fact.valid_from,
        valid_to=fact.valid_to,
        replaced_by=None if fact.replaced_by is None else ids.memory_id(row.key, fact.replaced_by),
        message_ids=fact.message_ids,
        segment_ids=tuple(ids.segment_id(row.key, s) for s in fact.segment_ids if s.startswith("seg_")),
        queries=tuple(queries[q] for q in fact.query_ids if q in queries),
    )


def history(operations: Sequence[FactOperation], fact_id: str, key: str) -> tuple[HistoryEntry, ...]:
    """What happened to one fact, oldest first, what others did to it included."""
    entries = []
    for count, operation in enumerate(operations, start=1):
        if operation.op is Op.REJECT or fact_id not in (operation.fact.fact_id, *operation.targets):
            continue
        now = fold(operations[:count])[fact_id]
        entries.append(
            HistoryEntry(
                op=operation.op.value,
                text=now.statement,
                status=now.status,
                at=operation.fact.ingested_at,
                decided_by=operation.decided_by,
                reason=operation.reason,
                targets=tuple(ids.memory_id(key, target) for target in operation.targets),
            )
        )
    return tuple(entries)


def segment_out(
    segment: Segment,
    key: str,
    *,
    known: Mapping[str, StoredMessage],
    thread_of: Mapping[str, str],
    open: bool,
) -> SegmentOut:
    """A Topical Segment."""
    times = [known[m].timestamp for m in segment.message_ids]
    thread = thread_of.get(segment.segment_id)
    return SegmentOut(
        id=ids.segment_id(key, segment.segment_id),
        message_ids=segment.message_ids,
        start=segment.start,
        stop=segment.stop,
        began=min(times),
        ended=max(times),
        trajectory_id=None if thread is None else ids.trajectory_id(key, thread),
        entities=tuple(sorted(segment.entities)),
        open=open,
    )


def segments(view: MemoryView, key: str, known: Mapping[str, StoredMessage]) -> list[SegmentOut]:
    """All of them in order; the last may be open."""
    thread_of = {s: t.trajectory_id for t in view.said.trajectories for s in t.segment_ids}
    closed = set(view.said.unit_of.values())
    return [
        segment_out(s, key, known=known, thread_of=thread_of, open=s.segment_id not in closed)
        for s in view.said.segments
    ]


def trajectory_out(trajectory: Trajectory, key: str) -> TrajectoryOut:
    """An Event Trajectory."""
    return TrajectoryOut(
        id=ids.trajectory_id(key, trajectory.trajectory_id),
        segment_ids=tuple(ids.segment_id(key, s) for s in trajectory.segment_ids),
        entities=tuple(sorted(trajectory.entities)),
    )


def candidate_out(cluster: CandidateCluster, scores: Scores, key: str, config: ActiveFactConfig) -> Candidate:
    """A candidate cluster with its two scores against their thresholds."""
    promoted = cluster.promoted_fact_id
    return Candidate(
        id=ids.candidate_id(key, cluster.cluster_id),
        subject=cluster.subject,
        statements=cluster.statements,
        queries=cluster.queries,
        sources=tuple(ids.segment_id(key, s) if s.startswith("seg_") else s for s in cluster.sources),
        message_ids=cluster.message_ids,
        source_score=scores.source,
        query_score=scores.query,
        theta_source=config.theta_source,
        theta_query=config.theta_query,
        promoted=None if promoted is None else ids.memory_id(key, promoted),
    )
