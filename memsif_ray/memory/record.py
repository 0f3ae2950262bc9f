"""What a memory consists of, for whoever stores it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from memsif_ray.memory.segments import Encoded
from memsif_ray.types import CandidateCluster, Decision, FactOperation, Segment, Trajectory, Vector


@dataclass(frozen=True, slots=True)
class Record:
    """What a memory consists of. A value that has not changed is the same object the next time.

    Attributes:
        said: Messages with their embeddings.
        found: Message id → all its entities.
        segments: Closed ones.
        trajectories: All.
        operations: Fact logs by track.
        decisions: By who made them, each in order.
        clusters: Candidate clusters.
        vectors_of: (`fact`, `statement` or `query`; id of the fact or cluster) → its embeddings now.
    """

    said: Sequence[Encoded]
    found: Mapping[str, frozenset[str]]
    segments: Sequence[Segment]
    trajectories: Sequence[Trajectory]
    operations: Mapping[str, Sequence[FactOperation]]
    decisions: Mapping[str, Sequence[Decision]]
    clusters: Sequence[CandidateCluster]
    vectors_of: Callable[[str, str], Sequence[Vector]]
