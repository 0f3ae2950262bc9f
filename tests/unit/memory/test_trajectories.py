"""Trajectories of segments that say nothing."""

import numpy as np
import pytest

from memsif_ray.memory.matching import Phi, Pool
from memsif_ray.memory.trajectories import TrajectoryBuilder, trajectory_rule
from memsif_ray.types import Segment


@pytest.fixture
def builder():
    async def judge(case):
        return trajectory_rule(case, tau_join=0.1)

    return TrajectoryBuilder(Phi(), top_k=3, judge=judge)


def pool(*numbers):
    made = Pool.empty(len(numbers))
    if numbers:
        made.add(np.array(numbers, np.float32), set())
    return made


def segment(number, of):
    return Segment(f"seg_{number:05d}", number, number + 1, (f"m{number}",), of.direction, frozenset())


async def test_blank_segments_stand_alone_and_disturb_no_other(builder):
    pools = [pool(), pool(1, 0), pool(), pool(1, 0)]
    threads = [await builder.assign(segment(i, each), each) for i, each in enumerate(pools)]
    assert threads == ["traj_00000", "traj_00001", "traj_00002", "traj_00001"]


async def test_a_restored_blank_trajectory_disturbs_no_other(builder):
    builder.restore([("seg_00000", "traj_00000", pool()), ("seg_00001", "traj_00001", pool(1, 0))], [])
    assert await builder.assign(segment(2, pool(1, 0)), pool(1, 0)) == "traj_00001"
