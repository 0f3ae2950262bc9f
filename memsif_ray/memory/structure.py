"""Segments and trajectories without a model: what calibration, the retrieval bench and benchmarks build."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from memsif_ray.memory.matching import Phi
from memsif_ray.memory.presets import Thresholds
from memsif_ray.memory.segments import (
    BoundaryCase,
    BoundaryRuling,
    Encoded,
    Segmenter,
    boundary_rule,
)
from memsif_ray.memory.trajectories import (
    TrajectoryBuilder,
    TrajectoryCase,
    TrajectoryRuling,
    trajectory_rule,
)
from memsif_ray.types import Decision, Segment, Trajectory


class Structure(NamedTuple):
    """What the rules made of one conversation.

    Attributes:
        decisions: Boundaries in order, then trajectories in order.
    """

    segments: tuple[Segment, ...]
    trajectories: tuple[Trajectory, ...]
    decisions: tuple[Decision, ...]


async def structure_by_rule(
    items: Sequence[Encoded], thresholds: Thresholds, *, phi: Phi, top_k: int = 3
) -> Structure:
    """Segments and trajectories of a whole conversation, judged by rule wherever an LLM would be asked."""
    tau_split, tau_merge, tau_join = thresholds

    async def same_topic(case: BoundaryCase) -> BoundaryRuling:
        return boundary_rule(case, midpoint=(tau_split + tau_merge) / 2)

    async def same_event(case: TrajectoryCase) -> TrajectoryRuling:
        return trajectory_rule(case, tau_join=tau_join)

    segmenter = Segmenter(phi, tau_split=tau_split, tau_merge=tau_merge, judge=same_topic)
    for item in items:
        await segmenter.push(item)
    segmenter.finish()
    builder = TrajectoryBuilder(phi, top_k=top_k, judge=same_event)
    for segment, pool in zip(segmenter.segments, segmenter.pools, strict=True):
        await builder.assign(segment, pool)
    return Structure(
        tuple(segmenter.segments), builder.trajectories, (*segmenter.decisions, *builder.decisions)
    )
