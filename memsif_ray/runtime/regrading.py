"""Grades the saved answers of a run again, without asking any question again.

One job per name of a grading, in `<run>/grades/<name>/`; one task per unit of the run. A unit whose answers,
references or prompts have changed since is graded again, with the judge's finished calls replayed.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import pyarrow.compute as pc

from memsif_ray.config import JudgingConfig, ModelConfig, RunConfig, fingerprint
from memsif_ray.datasets.audit import Audit, Ceiling
from memsif_ray.evaluation.judge import STAGE
from memsif_ray.evaluation.profiles import AUDITED, PROFILES
from memsif_ray.ports import ChatModel
from memsif_ray.prompts import load
from memsif_ray.runtime.grading import Graded, graded_answer
from memsif_ray.runtime.tasks import JobResult, Result, run_tasks
from memsif_ray.runtime.toolbox import Bench
from memsif_ray.runtime.units import Unit, UnitRecord
from memsif_ray.storage.files import read_json, write_json
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.runs import RunFolder, safe_name
from memsif_ray.storage.sealed import SealedFolder
from memsif_ray.storage.tables import decode
from memsif_ray.types import Answer, CallScope, Gold, Question

_AT_A_TIME = 8
_GIVE_UP_AFTER = 3
"""Answers in a row that a busy judge failed, each for its whole deadline, before a unit gives up."""


@dataclass(frozen=True, slots=True)
class Grading:
    """What a grading means.

    Attributes:
        judging: Profile and votes.
        model: Who judges.
        audit: Corrections of the references; None takes them as released.
        apart: Whether this is another judge than the run's own, so that its name must say so.
    """

    judging: JudgingConfig
    model: ModelConfig
    audit: Audit | None = None
    apart: bool = False

    @property
    def label(self) -> str:
        """Profile, votes, model where it is not the run's, and whose references."""
        by = f"+{self.model.model}" if self.apart else ""
        return f"{self.judging.label}{by}{AUDITED if self.audit else ''}"

    @property
    def released(self) -> Grading:
        """The same against the references as they were released."""
        return replace(self, audit=None)

    def against(self, audit: Audit) -> Grading:
        """The same against corrected references."""
        return replace(self, audit=audit)

    def folder(self, run: RunFolder) -> JobFolder:
        """Where it lies."""
        return JobFolder(run.path / "grades" / safe_name(self.label))


@dataclass(frozen=True, slots=True)
class GradeUnit:
    """Task: all answers of one unit.

    Attributes:
        takes_own: Whether what the run itself graded under the same name is taken over.
    """

    run_folder: RunFolder
    unit: Unit
    grading: Grading
    takes_own: bool = True

    @property
    def name(self) -> str:
        """Unique in the job."""
        return f"{self.unit.method}/{self.unit.conversation_id}/{self.unit.run}"

    @property
    def scope(self) -> CallScope:
        """That of the unit."""
        return self.unit.scope

    def meaning(self) -> str:
        """Changes with anything that the verdicts depend on; speed and addresses are not among it."""
        grading, unit = self.grading, self.unit
        model = grading.model
        return fingerprint(
            _digest(self.run_folder.inputs(unit.conversation_id), "gold"),
            _digest(unit.folder(self.run_folder), "answers"),
            [load(name).fingerprint for name in PROFILES[grading.judging.profile].prompts],
            [grading.judging.votes, model.model, model.structured_output, model.thinking],
            _corrections(grading.audit),
            [_digest(folder, "verdicts") for folder in self._graded_before()],
        )

    async def run(self, bench: Bench) -> Result:
        """Grade, a few answers at a time.

        Raises:
            DataError: When a table of the run is missing or damaged.
        """
        saved = await asyncio.to_thread(self._read)
        slots = asyncio.Semaphore(_AT_A_TIME)
        busy: list[str] = []

        async def one(row: Mapping[str, Any]) -> Graded:
            async with slots:
                if len(busy) >= _GIVE_UP_AFTER:
                    ungraded = await self._grade(row, saved, bench, judge=None)
                    return ungraded._replace(failure=f"not graded: {busy[-1]}")
                grade = await self._grade(row, saved, bench, judge=bench.judge)
                busy[:] = [*busy, grade.failure] if grade.busy else []
                return grade

        grades = await asyncio.gather(*map(one, saved.answers))
        failures = [grade.failure for grade in grades if grade.failure]
        reason = failures[0] if failures else ""
        return Result({"verdicts": [grade.row for grade in grades]}, len(failures), reason)

    async def _grade(
        self, row: Mapping[str, Any], saved: _Saved, bench: Bench, *, judge: ChatModel | None
    ) -> Graded:
        audit, question_id = self.grading.audit, row["question_id"]
        question, released = saved.questions[question_id], saved.gold[question_id]
        gold = audit.corrected(question, released) if audit else released
        if gold is released and question_id in saved.verdicts:
            return Graded(saved.verdicts[question_id] | {"profile": self.grading.label})
        grade = await graded_answer(
            question,
            gold,
            Answer(question_id, row["answer"], row["error"]),
            context_ids=row["context_message_ids"],
            judge=judge,
            scope=bench.tools.scope_of(question_id),
            judging=self.grading.judging,
        )
        return grade._replace(row=grade.row | {"profile": self.grading.label})

    def _read(self) -> _Saved:
        inputs = self.run_folder.inputs(self.unit.conversation_id)
        label = self.grading.released.label
        before = [
            row
            for folder in self._graded_before()
            if "verdicts" in folder.names()
            for row in folder.read("verdicts").to_pylist()
            if row["profile"] == label and row["outcome"] is not None
        ]
        return _Saved(
            self.unit.folder(self.run_folder).read("answers").to_pylist(),
            {question.question_id: question for question in decode(inputs.read("questions"), Question)},
            {gold.question_id: gold for gold in decode(inputs.read("gold"), Gold)},
            {row["question_id"]: row for row in before},
        )

    def _graded_before(self) -> list[SealedFolder]:
        """Where the same verdicts may be already: of the run itself, or against the released references."""
        own = [self.unit.folder(self.run_folder)] if self.takes_own else []
        if self.grading.audit is None:
            return own
        return [*own, self.grading.released.folder(self.run_folder).task(self.name)]


@dataclass(frozen=True, slots=True)
class _Saved:
    """What a unit needs of the run; all but `answers` by question id."""

    answers: Sequence[Mapping[str, Any]]
    questions: Mapping[str, Question]
    gold: Mapping[str, Gold]
    verdicts: Mapping[str, dict[str, Any]]


def regrade(
    run: RunFolder, grading: Grading, *, config: RunConfig, progress: bool = True
) -> JobResult | None:
    """Bring a grading to its end, doing only what is left of it.

    Args:
        run: A finished run.
        grading: What to do. What the run itself graded under this name is taken over, unless it is
            `outdated`. One with an audit judges what the audit corrects, and takes over the rest from the
            grading against the released references, so do that one first.
        config: Of the run: how fast to go, and where its services are.
        progress: Show it on stderr.

    Returns:
        What came of it; None when the run's own verdicts are this grading already, and whole.

    Raises:
        ConfigError: When a service cannot be set up, or another process works on this grading.
    """
    takes_own = not outdated(run, grading)
    if takes_own and is_own(run, grading):
        return None
    tasks = [GradeUnit(run, unit, grading, takes_own) for unit in _asked(run)]
    folder = grading.folder(run)
    _forget_changed(folder, {task.name: task.meaning() for task in tasks})
    # The judge is the one model of this job: whatever answered the questions is not started.
    judging = config.model_copy(
        update={"model": grading.model, "judge": None, "grade": True, "entities": "rules"}
    )
    return run_tasks(
        tasks,
        folder=folder,
        config=judging,
        progress=progress,
        tables=("verdicts",),
        about=_about(run, grading),
    )


def is_own(run: RunFolder, grading: Grading) -> bool:
    """Whether the run's own verdicts have this name and are whole, and no later grading hides them."""
    if grading.folder(run).path.is_dir():
        return False
    rows = run.tables.read("verdicts").select(["profile", "outcome"]).to_pylist()
    return bool(rows) and all(row["profile"] == grading.label and row["outcome"] is not None for row in rows)


def outdated(run: RunFolder, grading: Grading) -> bool:
    """Whether the run graded under this name with other prompts than today's.

    Verdicts of two versions of a prompt under one name would be one accuracy of two graders.
    """
    names = run.tables.read("verdicts")["profile"].unique().to_pylist()
    if grading.released.label not in names or "calls" not in run.tables.names():
        return False
    calls = run.tables.read("calls")
    made = calls.filter(pc.equal(calls["stage"], STAGE))["prompt_fingerprint"].unique().to_pylist()
    return not set(made) <= {load(name).fingerprint for name in PROFILES[grading.judging.profile].prompts}


def ceiling(run: RunFolder, audit: Audit) -> Ceiling:
    """How well the released answers of a run's questions would score by the audit."""
    gold = {one.question_id: one for one in decode(run.tables.read("gold"), Gold)}
    asked = decode(run.tables.read("questions"), Question)
    return audit.ceiling((question, gold[question.question_id]) for question in asked)


def _about(run: RunFolder, grading: Grading) -> dict[str, Any]:
    """What the manifest of a grading says of it."""
    prompts = {name: load(name).fingerprint for name in PROFILES[grading.judging.profile].prompts}
    about = {"profile": grading.label, "judge": grading.model.model, "prompts": prompts}
    return about if grading.audit is None else {**about, "ceiling": ceiling(run, grading.audit)._asdict()}


def _asked(run: RunFolder) -> list[Unit]:
    units = (record.unit for record in decode(run.tables.read("units"), UnitRecord))
    return [unit for unit in units if unit.run is not None]


def _forget_changed(folder: JobFolder, meanings: Mapping[str, str]) -> None:
    """Tasks that mean something else than when they were done are done again; their calls stay."""
    kept = folder.path / "meanings.json"
    known = read_json(kept) or {}
    if known == meanings:
        return
    for name, meaning in meanings.items():
        if known.get(name) != meaning:
            folder.task(name).clear()
    folder.tables.clear()
    write_json(kept, meanings)


def _digest(folder: SealedFolder, table: str) -> str:
    said = folder.about() or {}
    return str(said.get("tables", {}).get(table, {}).get("sha256", ""))


def _corrections(audit: Audit | None) -> list[list[Any]]:
    return [] if audit is None else sorted([*place, answer] for place, answer in audit.answers.items())
