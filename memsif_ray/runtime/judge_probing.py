"""Lets a judge grade answers of known worth: a distributed, resumable job like any other."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from memsif_ray.config import JudgingConfig, RunConfig, fingerprint
from memsif_ray.datasets.judge_probe import ProbeAnswer
from memsif_ray.evaluation.profiles import PROFILES
from memsif_ray.prompts import load
from memsif_ray.runtime.grading import graded_answer
from memsif_ray.runtime.tasks import JobResult, Result, run_tasks
from memsif_ray.runtime.toolbox import Bench
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.runs import safe_name
from memsif_ray.types import Answer, CallScope

_PER_TASK = 64


@dataclass(frozen=True, slots=True)
class GradeProbe:
    """Task: some answers of one kind. Its verdicts have the kind in the column of the method."""

    kind: str
    start: int
    answers: tuple[ProbeAnswer, ...]
    judging: JudgingConfig

    @property
    def name(self) -> str:
        """Unique in the job."""
        return f"{self.kind}/{self.start}"

    @property
    def scope(self) -> CallScope:
        """A kind of answers stands for a method."""
        return CallScope(self.kind)

    async def run(self, bench: Bench) -> Result:
        """Grade all of them; the model's own limit says how many at a time."""
        grades = await asyncio.gather(
            *(
                graded_answer(
                    one.question,
                    one.gold,
                    Answer(one.gold.question_id, one.answer),
                    context_ids=(),
                    judge=bench.judge,
                    scope=bench.tools.scope_of(one.gold.question_id),
                    judging=self.judging,
                )
                for one in self.answers
            )
        )
        failures = [grade.failure for grade in grades if grade.failure]
        reason = failures[0] if failures else ""
        return Result({"verdicts": [grade.row for grade in grades]}, len(failures), reason)


def probe_judge(answers: Sequence[ProbeAnswer], *, config: RunConfig, progress: bool = True) -> JobResult:
    """Have the configured judge grade the answers, under `config.judging`.

    Its tables are in `<output>/probes/<profile>-<digest>`, where the digest stands for prompts, model and
    answers.

    Raises:
        ConfigError: When a service cannot be set up, or another process does the same.
    """
    by_kind: dict[str, list[ProbeAnswer]] = defaultdict(list)
    for one in answers:
        by_kind[one.kind].append(one)
    tasks = [
        GradeProbe(kind, start, tuple(group[start : start + _PER_TASK]), config.judging)
        for kind, group in by_kind.items()
        for start in range(0, len(group), _PER_TASK)
    ]
    meaning = fingerprint(
        [load(name).fingerprint for name in PROFILES[config.judging.profile].prompts],
        [config.judging.votes, config.model.model, config.model.structured_output, config.model.thinking],
        [[one.kind, one.question.text, one.gold.answer, one.answer] for one in answers],
    )
    name = f"{safe_name(config.judging.label)}-{meaning}"
    folder = JobFolder(config.execution.output.resolve() / "probes" / name)
    about = {"profile": config.judging.label, "judge": config.model.model, "answers": len(answers)}
    return run_tasks(
        tasks, folder=folder, config=config, progress=progress, tables=("verdicts",), about=about
    )
