"""What a worker does with one unit. Knows no Ray, so that a test can simply await it.

A unit is executed from its start however often it is begun: calls that are in its ledger are replayed, and
its folder counts only when it is whole. So a kill at any moment loses no more than the calls in flight.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from memsif_ray.config import RunConfig
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.methods import make_method
from memsif_ray.methods.base import MemoryMethod, SeesEvidence
from memsif_ray.runtime.asking import Asked, ask_in_order, not_asked
from memsif_ray.runtime.contained import contained
from memsif_ray.runtime.grading import Graded, graded
from memsif_ray.runtime.rows import Session
from memsif_ray.runtime.toolbox import Bench, Toolbox
from memsif_ray.runtime.units import (
    DONE,
    FAILED,
    ROW_ERRORS,
    STOPPED,
    Unit,
    UnitRecord,
    last_record,
    reason_of,
    record,
    seal,
)
from memsif_ray.storage.inputs import Inputs, read_inputs
from memsif_ray.storage.memories import added, encode_memory, read_memory
from memsif_ray.storage.runs import RunFolder


@dataclass(frozen=True, slots=True)
class _Blamed:
    """Says with an error on its way out whose work it ended: a bug of ours stops the run, wherever it ran."""

    unit: Unit

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        if error is not None:
            unit = self.unit
            error.add_note(f"in the {unit.stage} unit of {unit.method} on {unit.conversation_id}")


class Worker:
    """Builds memories and asks questions in one process, any number of units at a time.

    Files are read and written in threads, so that no unit's questions wait for another unit's tables.
    """

    def __init__(self, config: RunConfig, folder: RunFolder, *, make_toolbox: Callable[[], Toolbox]) -> None:
        """Work for one run.

        Args:
            config: Of the run.
            folder: Of the run.
            make_toolbox: Called once, at the first unit, so that a wrong configuration is that unit's
                outcome: what a process raises before it has work reaches nobody in one piece.
        """
        self._config = config
        self._folder = folder
        self._make_toolbox = make_toolbox

    async def do(self, unit: Unit) -> UnitRecord:
        """Build one memory, or ask all its questions once. Whatever comes of it is written down and returned.

        Only a wrong configuration, which is nothing to write down, is just returned, as `stopped`.
        """
        try:
            return await self._tried(unit)
        except ConfigError as exc:
            return record(unit, status=STOPPED, reason=str(exc))

    @cached_property
    def _toolbox(self) -> Toolbox:
        return self._make_toolbox()

    async def _tried(self, unit: Unit) -> UnitRecord:
        """A memory that cannot be built, or questions that cannot be read, cost this unit and no other."""
        try:
            with _Blamed(unit):
                return await (self._build(unit) if unit.run is None else self._ask(unit))
        except ROW_ERRORS as exc:
            return seal(unit, self._folder, {}, status=FAILED, reason=reason_of(exc))

    async def _build(self, unit: Unit) -> UnitRecord:
        started = time.perf_counter()
        inputs = await asyncio.to_thread(read_inputs, self._folder, unit.conversation_id)
        with self._toolbox.opened(unit.ledger(self._folder), unit.scope) as bench:
            with contained(unit.method):
                method = make_method(unit.method, self._config, bench.tools)
                await method.ingest(inputs.conversation)
                memory = method.dump()
            self._toolbox.tally.add(built=1)
        tables = encode_memory(memory, method=unit.method, conversation_id=unit.conversation_id, run=None)
        seconds = time.perf_counter() - started
        return await asyncio.to_thread(seal, unit, self._folder, tables, seconds=seconds)

    async def _ask(self, unit: Unit) -> UnitRecord:
        started = time.perf_counter()
        inputs = await asyncio.to_thread(read_inputs, self._folder, unit.conversation_id)
        with self._toolbox.opened(unit.ledger(self._folder), unit.scope, asking=True) as bench:
            try:
                session = await self._session(unit, inputs, bench)
                outcome = session.outcome()
            except ROW_ERRORS as exc:  # no memory to ask: every question still gets a row, which says why
                session = await self._no_session(inputs, bench, exc)
                outcome = {**session.outcome(), "status": FAILED}
            tables = await asyncio.to_thread(
                session.tables, unit, gold=inputs.gold, tokens=bench.tools.tokens
            )
        seconds = time.perf_counter() - started
        return await asyncio.to_thread(seal, unit, self._folder, tables, seconds=seconds, **outcome)

    async def _session(self, unit: Unit, inputs: Inputs, bench: Bench) -> Session:
        build = Unit(unit.method, unit.conversation_id)
        built = last_record(build, self._folder)
        if built is None or built.status != DONE:
            raise DataError(f"memory was not built: {built.reason if built else 'damaged'}")
        before = await asyncio.to_thread(read_memory, build.folder(self._folder))
        with contained(unit.method):
            method = make_method(unit.method, self._config, bench.tools)
            with bench.unbooked():
                await method.load(inputs.conversation, before)
            if isinstance(method, SeesEvidence):
                method.see_evidence({name: gold.evidence for name, gold in inputs.gold.items()})
        asked, grades = await self._ask_and_grade(method, inputs, bench)
        with contained(unit.method):
            memory = method.dump()
        return Session(asked, grades, added(before, memory))

    async def _ask_and_grade(
        self, method: MemoryMethod, inputs: Inputs, bench: Bench
    ) -> tuple[list[Asked], list[Graded]]:
        asked: list[Asked] = []
        grading: list[asyncio.Task[Graded]] = []
        try:
            async for one in ask_in_order(
                method, inputs.questions, tools=bench.tools, config=self._config, clock=bench.clock
            ):
                asked.append(one)
                grading.append(asyncio.create_task(self._graded(one, inputs, bench)))
                self._toolbox.tally.add(asked=1)
            return asked, await asyncio.gather(*grading)
        finally:
            for task in grading:  # no effect on those that have ended
                task.cancel()

    async def _graded(self, asked: Asked, inputs: Inputs, bench: Bench) -> Graded:
        gold = inputs.gold[asked.question.question_id]
        grade = await graded(asked, gold, judge=bench.judge, tools=bench.tools, judging=self._config.judging)
        self._toolbox.tally.add(graded=1)
        return grade

    async def _no_session(self, inputs: Inputs, bench: Bench, cause: Exception) -> Session:
        failure = DataError(reason_of(cause))
        asked = [
            not_asked(question, order, str(failure), failure=failure)
            for order, question in enumerate(inputs.questions)
        ]
        return Session(asked, [await self._graded(one, inputs, bench) for one in asked], {})
