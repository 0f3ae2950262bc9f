"""Building memories as a Ray Data pipeline: one row is one memory to build, and comes back as its record."""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict
from typing import Any

import ray.data

from memsif_ray.runtime.spec import WorkerSpec
from memsif_ray.runtime.units import Unit, UnitRecord

_KEYS = ("method", "conversation_id")


def build_memories(spec: WorkerSpec, units: Sequence[Unit]) -> Iterator[UnitRecord]:
    """Build memories, yielding each one's record as it is finished.

    Rows are ids: the worker reads the conversation from the run folder and writes the memory there itself,
    so nothing large passes through the object store.
    """
    if not units:
        return
    execution = spec.config.execution
    actors = max(1, min(execution.shards, len(units)))
    each = math.ceil(execution.units_in_flight / actors)
    rows = [{name: getattr(unit, name) for name in _KEYS} for unit in units]
    records = ray.data.from_items(rows, override_num_blocks=len(rows)).map_batches(
        MemoryBuilder,
        fn_constructor_args=[spec, each],
        batch_size=1,
        num_cpus=0,
        compute=ray.data.ActorPoolStrategy(
            size=actors, max_tasks_in_flight_per_actor=each, max_concurrent_calls_per_actor=each
        ),
    )
    for row in records.iter_rows():
        yield UnitRecord(**row, run=None)


class MemoryBuilder:
    """One actor of the pool: builds several memories at a time."""

    def __init__(self, spec: WorkerSpec, at_a_time: int) -> None:
        """Take a place to work."""
        self._worker = spec.worker()
        self._slots = asyncio.Semaphore(at_a_time)

    async def __call__(self, batch: dict[str, Any]) -> AsyncIterator[dict[str, list[Any]]]:
        """One row in, one row out."""
        (method,), (conversation_id,) = (batch[name] for name in _KEYS)
        async with self._slots:
            record = await self._worker.do(Unit(str(method), str(conversation_id)))
        columns = asdict(record)
        del columns["run"]  # null in every row here
        yield {name: [value] for name, value in columns.items()}
