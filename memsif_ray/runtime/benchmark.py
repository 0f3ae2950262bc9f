"""A whole run: build every memory, ask every question, put the tables together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from itertools import chain

import pyarrow as pa

from memsif_ray.config import RunConfig
from memsif_ray.datasets import load
from memsif_ray.datasets.sample import FOLDER as SAMPLE
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.methods import METHODS, expand
from memsif_ray.probing import capabilities_for, settled
from memsif_ray.runtime.bounded import map_bounded
from memsif_ray.runtime.merge import merge, parts_of
from memsif_ray.runtime.pipeline import build_memories
from memsif_ray.runtime.shards import start_shards
from memsif_ray.runtime.spec import WorkerSpec
from memsif_ray.runtime.units import DONE, FAILED, STOPPED, Plan, Unit, UnitRecord, last_record, record
from memsif_ray.runtime.workplace import workplace
from memsif_ray.storage.files import claimed
from memsif_ray.storage.inputs import list_inputs, write_inputs
from memsif_ray.storage.origin import Origin, keep_origin, origin_of, refuse_changed_data
from memsif_ray.storage.runs import RunFolder, run_folder, write_config
from memsif_ray.storage.tables import decode


@dataclass(frozen=True, slots=True)
class RunResult:
    """What a run left behind.

    Attributes:
        folder: Where it is.
        records: What became of every unit.
        unanswered: Answers without text in units that are done: the model's replies cannot be used.
    """

    folder: RunFolder
    records: tuple[UnitRecord, ...]
    unanswered: int = 0

    @property
    def failures(self) -> tuple[UnitRecord, ...]:
        """Units with something missing; the next start tries them again."""
        return tuple(record for record in self.records if record.status != DONE)

    @property
    def exit_code(self) -> int:
        """0 when everything is there, 1 when anything is missing."""
        return 1 if self.failures or self.unanswered else 0

    def report(self) -> list[str]:
        """Lines for a person: what is missing and why, then where everything is."""
        missing = [
            f"{one.status}: {one.stage} {one.method} {one.conversation_id}: {one.reason}"
            + (f" ({one.failed} questions)" if one.failed else "")
            for one in self.failures
        ]
        total = f"{len(self.records)} units, {len(missing)} not done: {self.folder.path}"
        if self.unanswered:  # no start mends these: asking once more would choose the model's luckier reply
            missing.append(f"failed: {self.unanswered} questions: the model's replies cannot be used; final")
        return [*missing, total]


def run_benchmark(config: RunConfig, *, progress: bool = True) -> RunResult:
    """Bring a run to its end, doing only what is left of it. A finished run is returned at once.

    Args:
        config: What to run.
        progress: Show progress on stderr.

    Raises:
        ConfigError: When the configuration, the path of the data or the set-up of a service is wrong.
        DataError: When the data is not what it says, or not what the run was begun with.
    """
    config = _settled(config)
    with _claimed(config) as (folder, origin):
        if folder.ended():
            return _ended(folder)
        plan = _planned(config, folder, origin)
        _work(config, folder, plan, progress=progress)
        return _concluded(folder, plan, origin)


def run_building(config: RunConfig, *, progress: bool = True) -> RunResult:
    """Build the memories of a run and stop there; `run_benchmark` goes on from it.

    Args and errors are those of `run_benchmark`.
    """
    config = _settled(config)
    with _claimed(config) as (folder, origin):
        plan = _planned(config, folder, origin).without_asks()
        _work(config, folder, plan, progress=progress)
        return RunResult(folder, _records(folder, plan.builds))


def _settled(config: RunConfig) -> RunConfig:
    """Which methods run and who decides is part of what a run means: settled before the run has a folder.

    Raises:
        ConfigError: When there is no method of some name.
    """
    named = config.model_copy(update={"methods": expand(config.methods, METHODS)})
    return settled(named, capabilities_for(config.model))


@contextmanager
def _claimed(config: RunConfig) -> Iterator[tuple[RunFolder, Origin]]:
    origin = origin_of(config, config.data.path or SAMPLE)
    refuse_changed_data(origin, config.execution.output.resolve())
    folder = run_folder(config, origin.sha256)
    with claimed(folder.path):
        yield folder, origin


def _ended(folder: RunFolder) -> RunResult:
    records = decode(folder.tables.read("units"), UnitRecord)
    return RunResult(folder, tuple(records), _without_text([folder.tables.read("answers")]))


def _without_text(answers: Iterable[pa.Table]) -> int:
    return sum(table["answer"].null_count for table in answers)


def _planned(config: RunConfig, folder: RunFolder, origin: Origin) -> Plan:
    listed = list_inputs(folder)
    if listed is None:
        dataset = load(config.data)
        if dataset.report.sha256 != origin.sha256:
            raise DataError(
                f"{origin.source} changed while it was read: SHA-256 {origin.sha256}, "
                f"then {dataset.report.sha256}"
            )
        write_config(folder, config)
        keep_origin(folder, origin)
        write_inputs(folder, dataset)
        listed = list_inputs(folder) or ()
    return Plan.of(config, listed)


def _concluded(folder: RunFolder, plan: Plan, origin: Origin) -> RunResult:
    records = _records(folder, plan.units)
    done = [record.unit.folder(folder) for record in records if record.status == DONE]
    result = RunResult(folder, records, _without_text(parts_of(done, "answers")))
    about = {
        "complete": result.exit_code == 0,
        "ended": not result.failures,
        "units": len(records),
        "data": asdict(origin),
    }
    merge(folder, plan.listed, records, about=about)
    return result


def _records(folder: RunFolder, units: Sequence[Unit]) -> tuple[UnitRecord, ...]:
    lost = "it did not end"
    return tuple(last_record(unit, folder) or record(unit, status=FAILED, reason=lost) for unit in units)


def _work(config: RunConfig, folder: RunFolder, plan: Plan, *, progress: bool) -> None:
    left = plan.left(folder)
    if not left.units:
        return
    with workplace(config, left.totals(), progress=progress) as tools:
        for _ in _outcomes(WorkerSpec(tools, folder), left):  # all of them are in the run folder
            pass


def _outcomes(spec: WorkerSpec, left: Plan) -> Iterator[UnitRecord]:
    """Build and ask at the same time: the questions to a memory begin as soon as it is built."""
    built = map(_not_stopped, build_memories(spec, left.builds))
    if not left.asks:
        yield from built
        return
    asks = left.asks_by_build()
    to_come = {build: asks.pop(build, []) for build in left.builds}
    next_asks = chain(chain.from_iterable(asks.values()), (ask for b in built for ask in to_come[b.unit]))
    shards = start_shards(spec, left.questions())
    # Twice as many as are worked on: a shard that has ended one unit never waits for the driver.
    limit = 2 * spec.config.execution.units_in_flight
    yield from map(_not_stopped, map_bounded(shards.ask, next_asks, limit=limit))


def _not_stopped(record: UnitRecord) -> UnitRecord:
    if record.status == STOPPED:
        raise ConfigError(record.reason)
    return record
