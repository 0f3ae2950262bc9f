"""Stateful actors that ask: each owns the conversations assigned to it."""

from __future__ import annotations

import hashlib
import heapq
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import ray

from memsif_ray.runtime.spec import WorkerSpec
from memsif_ray.runtime.units import Unit, UnitRecord

_RETRIES = 3
"""Restarts of a shard, and repetitions of a unit on a restarted one: harmless, since calls are replayed."""


class ConversationShard:
    """Asks the questions of its conversations, several units at a time, each in its own order.

    Undecorated, so that a test can construct it; `start_shards` makes actors of it. A restarted shard has
    nothing to restore: memories are in the run folder, and calls are in the ledgers.
    """

    def __init__(self, spec: WorkerSpec) -> None:
        """Take a place to work."""
        self._worker = spec.worker()

    async def ask(self, unit: Unit) -> UnitRecord:
        """Ask all questions of one unit; safe to call again."""
        return await self._worker.do(unit)


@dataclass(frozen=True)
class Shards:
    """Running shards, and which conversation is whose."""

    actors: Sequence[Any]
    owner: Mapping[str, int]

    def ask(self, unit: Unit) -> Any:
        """Have the owner ask a unit; returns the reference to its record."""
        return self.actors[self.owner[unit.conversation_id]].ask.remote(unit)


def start_shards(spec: WorkerSpec, questions: Mapping[str, int]) -> Shards:
    """Start the shards, and assign conversations by their number of questions.

    They reserve no CPU: they wait for models nearly all the time, and must start on a busy machine too.
    """
    execution = spec.config.execution
    number = max(1, min(execution.shards, len(questions)))
    actor = ray.remote(ConversationShard).options(
        num_cpus=0,
        max_restarts=_RETRIES,
        max_task_retries=_RETRIES,
        max_concurrency=math.ceil(execution.units_in_flight / number),
    )
    return Shards([actor.remote(spec) for _ in range(number)], assign(questions, number))


def assign(weights: Mapping[str, int], shards: int) -> dict[str, int]:
    """The shard of each conversation: heaviest first, each to the shard with the least so far.

    Depends on nothing but ids and weights; ids of equal weight go in the order of their digests, not of
    their names, so that neighbours in a file do not meet in one shard.
    """
    loads = [(0, shard) for shard in range(shards)]
    owner: dict[str, int] = {}
    for conversation_id in sorted(weights, key=lambda name: (-weights[name], _digest(name))):
        load, shard = heapq.heappop(loads)
        owner[conversation_id] = shard
        heapq.heappush(loads, (load + weights[conversation_id], shard))
    return owner


def _digest(name: str) -> bytes:
    return hashlib.sha256(name.encode("utf-8", "surrogatepass")).digest()
