"""Resumable distributed jobs of independent tasks: diagnostics, grading, labelling.

A task is executed from its start however often it is begun: its finished model calls are replayed from its
ledger, and its tables count only when they are whole. So a kill at any moment loses no more than the calls
in flight, and starting a job again does only what is left of it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from functools import cached_property
from typing import Any, Protocol

import pyarrow as pa

from memsif_ray.clients.ledger import Ledger
from memsif_ray.config import RunConfig
from memsif_ray.errors import ConfigError
from memsif_ray.runtime.merge import parts_of
from memsif_ray.runtime.pool import through_pool
from memsif_ray.runtime.spec import ToolSpec
from memsif_ray.runtime.toolbox import Bench, Toolbox
from memsif_ray.runtime.units import DONE, FAILED, INCOMPLETE, ROW_ERRORS, STOPPED, reason_of
from memsif_ray.runtime.workplace import workplace
from memsif_ray.schemas import TABLES
from memsif_ray.storage.files import claimed
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.tables import encode
from memsif_ray.types import CallScope


@dataclass(frozen=True, slots=True)
class Result:
    """What a task found out.

    Attributes:
        tables: Name in `schemas.TABLES` → frozen values, or mappings by column.
        failed: Rows that a service failed, which the next start tries again.
        reason: Why the first of them did.
    """

    tables: Mapping[str, Sequence[Any]]
    failed: int = 0
    reason: str = ""


class Task(Protocol):
    """One piece of work: a small picklable value that knows where to read what it needs."""

    @property
    def name(self) -> str:
        """Unique in its job."""
        ...

    @property
    def scope(self) -> CallScope:
        """On whose behalf its model calls are made."""
        ...

    async def run(self, bench: Bench) -> Result:
        """Do it, with models whose calls are written down.

        Raises:
            DataError: When its input is wrong; the task has failed, and the others go on.
            ServiceError: When a model failed; likewise.
            ConfigError: When no other task can fare better: the job stops.
        """
        ...


@dataclass(frozen=True, slots=True)
class TaskRecord:
    """What became of a task: a row of [`TASKS`][memsif_ray.schemas.TASKS].

    `status` is `done`, `incomplete` (`failed` rows are missing) or `failed`; `stopped`, which is never
    written, when the configuration is wrong.
    """

    name: str
    status: str = DONE
    failed: int = 0
    reason: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class JobResult:
    """What a job left behind."""

    folder: JobFolder
    records: tuple[TaskRecord, ...]

    @property
    def failures(self) -> tuple[TaskRecord, ...]:
        """Tasks with something missing; the next start tries them again."""
        return tuple(record for record in self.records if record.status != DONE)

    @property
    def exit_code(self) -> int:
        """0 when everything is there, 1 when anything is missing."""
        return 1 if self.failures else 0

    def report(self) -> list[str]:
        """Lines for a person: what is missing and why, then where everything is."""
        missing = [
            f"{one.status}: {one.name}: {one.reason}" + (f" ({one.failed} rows)" if one.failed else "")
            for one in self.failures
        ]
        return [*missing, f"{len(self.records)} tasks, {len(missing)} not done: {self.folder.path}"]


def run_tasks(
    tasks: Sequence[Task],
    *,
    folder: JobFolder,
    config: RunConfig,
    progress: bool = True,
    tables: Sequence[str] = (),
    about: Mapping[str, Any] | None = None,
    chat: bool = True,
) -> JobResult:
    """Bring a job to its end, doing only what is left of it, and put its tables together.

    Args:
        tasks: All of them, those done before too; their order is the order of rows.
        folder: The job's; its name should say what the tasks mean (settings, prompts, data).
        config: Names the models, and how fast to go.
        progress: Show it on stderr.
        tables: Tables to write even when no task has a row for them.
        about: Kept in the manifest.
        chat: False starts no chat model, for tasks that only embed.

    Raises:
        ConfigError: When the set-up is wrong, or another process works on this job.
        ValueError: When two tasks have one name.
    """
    if len({task.name for task in tasks}) < len(tasks):
        raise ValueError("two tasks have the same name")
    with claimed(folder.path):
        left = [task for task in tasks if not _is_done(task.name, folder)]
        if left:
            with workplace(config, {"tasks": len(left)}, progress=progress, chat=chat) as tools:
                for _ in _outcomes(TaskSpec(tools, folder, tuple(left))):  # all of them are in the folder
                    pass
        records = tuple(_record(task.name, folder) for task in tasks)
        complete = all(record.status == DONE for record in records)
        if left or folder.tables.about() is None:
            _merge(folder, records, tables, {**(about or {}), "complete": complete})
        return JobResult(folder, records)


@dataclass(frozen=True, slots=True)
class TaskSpec:
    """Everything a worker of a job needs to know."""

    tools: ToolSpec
    folder: JobFolder
    tasks: tuple[Task, ...]


class TaskWorker:
    """Does one task after another. Knows no Ray, so that a test can simply await it."""

    def __init__(self, folder: JobFolder, *, make_toolbox: Callable[[], Toolbox]) -> None:
        """Work for one job; `make_toolbox` is called at the first task, whose outcome its errors are."""
        self._folder = folder
        self._make_toolbox = make_toolbox

    async def do(self, task: Task) -> TaskRecord:
        """Do a task and write down what came of it, whatever that is."""
        started = time.perf_counter()
        result = Result({})
        try:
            with self._toolbox.opened(self._folder.ledger(task.name), task.scope) as bench:
                result = await task.run(bench)
                self._toolbox.tally.add(tasks=1)
            status = INCOMPLETE if result.failed else DONE
            record = TaskRecord(task.name, status, result.failed, result.reason)
        except ROW_ERRORS as exc:
            record = TaskRecord(task.name, FAILED, reason=reason_of(exc))
        except ConfigError as exc:
            return TaskRecord(task.name, STOPPED, reason=str(exc))
        written = {**asdict(record), "seconds": time.perf_counter() - started}
        await asyncio.to_thread(self._folder.task(task.name).write, _encoded(result), written)
        return TaskRecord(**written)

    @cached_property
    def _toolbox(self) -> Toolbox:
        return self._make_toolbox()


class TaskActor:
    """One actor of the pool: does several tasks at a time."""

    def __init__(self, spec: TaskSpec, at_a_time: int) -> None:
        """Take a place to work."""
        self._tasks = spec.tasks
        self._worker = TaskWorker(spec.folder, make_toolbox=spec.tools.toolbox)
        self._slots = asyncio.Semaphore(at_a_time)

    async def __call__(self, batch: dict[str, Any]) -> AsyncIterator[dict[str, list[Any]]]:
        """One row in, one row out."""
        (number,) = batch["number"]
        async with self._slots:
            record = await self._worker.do(self._tasks[int(number)])
        yield {name: [value] for name, value in asdict(record).items()}


def _outcomes(spec: TaskSpec) -> Iterator[TaskRecord]:
    """Rows are numbers of tasks: workers read and write folders, so nothing large passes through Ray."""
    rows = [{"number": number} for number in range(len(spec.tasks))]
    for row in through_pool(TaskActor, spec, rows, execution=spec.tools.config.execution):
        record = TaskRecord(**row)
        if record.status == STOPPED:
            raise ConfigError(record.reason)
        yield record


def _is_done(name: str, folder: JobFolder) -> bool:
    return _record(name, folder).status == DONE


def _record(name: str, folder: JobFolder) -> TaskRecord:
    said = folder.task(name).about()
    if said is None:
        return TaskRecord(name, FAILED, reason="it did not end")
    return TaskRecord(**{field.name: said[field.name] for field in fields(TaskRecord)})


def _encoded(result: Result) -> dict[str, list[pa.Table]]:
    return {name: [encode(values, TABLES[name])] for name, values in result.tables.items()}


def _merge(
    folder: JobFolder, records: Sequence[TaskRecord], tables: Sequence[str], about: Mapping[str, Any]
) -> None:
    parts = [folder.task(record.name) for record in records]
    found = {name for part in parts for name in part.names()} | set(tables)
    merged = {name: parts_of(parts, name) for name in sorted(found)}
    calls = (encode(_calls(record.name, folder), TABLES["calls"]) for record in records)
    folder.tables.write(
        {**merged, "calls": calls, "tasks": [encode(records, TABLES["tasks"])]},
        {**about, "tasks": len(records)},
    )


def _calls(name: str, folder: JobFolder) -> list[Any]:
    if not folder.ledger(name).is_file():
        return []
    with Ledger(folder.ledger(name)) as ledger:
        return list(ledger.rows())
