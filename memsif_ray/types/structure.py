"""What a history is ordered into (MemSIF 3.2)."""

from __future__ import annotations

from dataclasses import dataclass

from memsif_ray.types.embeddings import Vector


@dataclass(frozen=True, slots=True)
class Segment:
    """A Topical Segment: messages `start` (inclusive) to `stop` (exclusive) by position (MemSIF 3.2)."""

    segment_id: str
    start: int
    stop: int
    message_ids: tuple[str, ...]
    embedding: Vector
    entities: frozenset[str]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An Event Trajectory: segments of one evolving event, in order, gaps allowed (MemSIF 3.2)."""

    trajectory_id: str
    segment_ids: tuple[str, ...]
    embedding: Vector
    entities: frozenset[str]
