"""Small rows through a pool of Ray actors, each of which works on several of them at a time."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import ray.data

from memsif_ray.config import ExecutionConfig


def through_pool(
    actor: type, spec: Any, rows: Sequence[dict[str, Any]], *, execution: ExecutionConfig
) -> Iterator[dict[str, Any]]:
    """Yield what becomes of each row as it is finished, in any order.

    Args:
        actor: Constructed with `spec` and how many rows it may have at a time; awaited with one row.
        spec: Small and picklable.
        rows: At least one.
        execution: How many actors there are, and how many rows all of them together may have at a time.
    """
    actors = max(1, min(execution.shards, len(rows)))
    each = math.ceil(execution.units_in_flight / actors)
    results = ray.data.from_items(list(rows), override_num_blocks=len(rows)).map_batches(
        actor,
        fn_constructor_args=[spec, each],
        batch_size=1,
        num_cpus=0,
        compute=ray.data.ActorPoolStrategy(
            size=actors, max_tasks_in_flight_per_actor=each, max_concurrent_calls_per_actor=each
        ),
    )
    yield from results.iter_rows()
