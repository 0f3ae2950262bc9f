"""What memories rest on: segments, trajectories, and details on their way to promotion."""

from __future__ import annotations

from memsif_ray.service.models.memories import Memory
from memsif_ray.service.models.messages import SourceMessage
from memsif_ray.service.models.words import LocalTime, Model


class SegmentOut(Model):
    """A Topical Segment: a topic-coherent run of messages. `open` while messages may still join it."""

    id: str
    message_ids: tuple[str, ...]
    start: int
    stop: int
    began: LocalTime
    ended: LocalTime
    trajectory_id: str | None
    entities: tuple[str, ...]
    open: bool = False


class TrajectoryOut(Model):
    """An Event Trajectory: the same event across sessions."""

    id: str
    segment_ids: tuple[str, ...]
    entities: tuple[str, ...]


class Candidate(Model):
    """What questions have made of a detail so far, and how far it is from promotion (MemSIF 3.4).

    It is promoted when both scores reach their thresholds.
    """

    id: str
    subject: str
    statements: tuple[str, ...]
    queries: tuple[str, ...]
    sources: tuple[str, ...]
    message_ids: tuple[str, ...]
    source_score: float
    query_score: float
    theta_source: float
    theta_query: float
    promoted: str | None


class Provenance(Model):
    """Why a memory is there: its messages, the segments and trajectories they are in, and the questions."""

    memory: Memory
    messages: tuple[SourceMessage, ...]
    segments: tuple[SegmentOut, ...]
    trajectories: tuple[TrajectoryOut, ...]
    queries: tuple[str, ...]
