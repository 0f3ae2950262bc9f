"""Building memories as a Ray Data pipeline: one row is one memory to build, and comes back as its record."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator, Sequence
from dataclasses import asdict
from typing import Any

from memsif_ray.runtime.pool import through_pool
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
    rows = [{name: getattr(unit, name) for name in _KEYS} for unit in units]
    for row in through_pool(MemoryBuilder, spec, rows, execution=spec.config.execution):
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
