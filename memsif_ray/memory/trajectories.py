"""Event Trajectories: the same evolving event across segments and sessions (MemSIF 3.2)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import numpy as np

from memsif_ray.memory.matching import Phi, Pool, normalised
from memsif_ray.types import Decision, Matrix, Segment, Trajectory


@dataclass(frozen=True, slots=True)
class TrajectoryCase:
    """A segment and its best candidates, highest φ first: (trajectory id, φ, ids of its segments)."""

    segment: Segment
    candidates: tuple[tuple[str, float, tuple[str, ...]], ...]


@dataclass(frozen=True, slots=True)
class TrajectoryRuling:
    """Which candidates are compatible, and who says so."""

    compatible: frozenset[str]
    decided_by: str
    detail: str = ""


TrajectoryJudge = Callable[[TrajectoryCase], Awaitable[TrajectoryRuling]]


def trajectory_rule(case: TrajectoryCase, *, tau_join: float) -> TrajectoryRuling:
    """Model-free counterpart: a candidate is compatible when its φ reaches a calibrated threshold."""
    return TrajectoryRuling(frozenset(t for t, phi, _ in case.candidates if phi >= tau_join), "rule")


class TrajectoryBuilder:
    """Assigns segments in order. Exact: φ to every trajectory is one matrix-vector product.

    Args:
        phi: The matching function.
        top_k: Candidates put to the judge (paper: 3).
        judge: Says which candidates are the same event.
    """

    def __init__(self, phi: Phi, *, top_k: int, judge: TrajectoryJudge) -> None:
        """Start with no trajectory."""
        self._phi, self._top_k, self._judge = phi, top_k, judge
        self._pools: list[Pool] = []
        self._members: list[list[str]] = []
        self._directions: Matrix = np.zeros((0, 0), dtype=np.float32)
        self._holders: defaultdict[str, list[int]] = defaultdict(list)
        self._values: list[Trajectory] = []
        self.decisions: list[Decision] = []

    async def assign(self, segment: Segment, pool: Pool) -> str:
        """Add `segment` to the best compatible trajectory, or to a new one; returns its id."""
        self._reserve(pool)
        case = TrajectoryCase(segment, self._candidates(pool))
        ruling = TrajectoryRuling(frozenset(), "threshold", "no candidate")
        if case.candidates:
            ruling = await self._judge(case)
        chosen = next(((t, phi) for t, phi, _ in case.candidates if t in ruling.compatible), None)
        index = self._new(pool) if chosen is None else _index(chosen[0])
        if chosen is not None:
            self._pools[index].absorb(pool)
        self._members[index].append(segment.segment_id)
        self._refresh(index, pool)
        score = chosen[1] if chosen else (case.candidates[0][1] if case.candidates else None)
        outcome = _name(index) if chosen else "new"
        self.decisions.append(
            Decision("trajectory", segment.segment_id, outcome, ruling.decided_by, score, ruling.detail)
        )
        return _name(index)

    @property
    def trajectories(self) -> tuple[Trajectory, ...]:
        """Every trajectory so far, in order of first appearance."""
        return tuple(self._values)

    def restore(self, assigned: Sequence[tuple[str, str, Pool]], decisions: Sequence[Decision]) -> None:
        """Take over stored assignments: (segment id, trajectory id, pool of the segment), in order."""
        for segment_id, trajectory_id, pool in assigned:
            self._reserve(pool)
            index = _index(trajectory_id)
            if index == len(self._pools):
                self._new(pool)
            else:
                self._pools[index].absorb(pool)
            self._members[index].append(segment_id)
            self._refresh(index, pool)
        self.decisions = list(decisions)

    def _candidates(self, pool: Pool) -> tuple[tuple[str, float, tuple[str, ...]], ...]:
        n = len(self._pools)
        if n == 0 or pool.count == 0:
            return ()
        semantic = normalised(self._directions[:n] @ pool.direction, self._phi.normalisation)
        scores = self._phi.alpha * np.asarray(semantic, dtype=np.float64)
        for index, shared in self._overlaps(pool).items():
            union = len(self._pools[index].entities) + len(pool.entities) - shared
            scores[index] += (1 - self._phi.alpha) * shared / union
        best = np.argsort(-scores, kind="stable")[: self._top_k]
        return tuple((_name(i), float(scores[i]), tuple(self._members[i])) for i in best)

    def _overlaps(self, pool: Pool) -> Counter[int]:
        """Shared entities per trajectory; those that share none are absent, so the scan stays short."""
        return Counter(i for entity in pool.entities for i in self._holders.get(entity, ()))

    def _new(self, pool: Pool) -> int:
        self._pools.append(pool.copy())
        self._members.append([])
        return len(self._pools) - 1

    def _reserve(self, pool: Pool) -> None:
        """Room for one more trajectory, as wide as this pool: those of blank messages have no width."""
        rows, width = self._directions.shape
        if len(self._pools) >= rows or len(pool.total) > width:
            grown = np.zeros((max(64, 2 * rows), max(width, len(pool.total))), dtype=np.float32)
            grown[:rows, :width] = self._directions
            self._directions = grown

    def _refresh(self, index: int, pool: Pool) -> None:
        grown = self._pools[index]
        value = Trajectory(
            _name(index), tuple(self._members[index]), grown.direction, frozenset(grown.entities)
        )
        self._values[index : index + 1] = [value]
        if grown.count:
            self._directions[index] = value.embedding
        for entity in pool.entities:
            if index not in self._holders[entity]:
                self._holders[entity].append(index)


def _name(index: int) -> str:
    return f"traj_{index:05d}"


def _index(trajectory_id: str) -> int:
    return int(trajectory_id.removeprefix("traj_"))
