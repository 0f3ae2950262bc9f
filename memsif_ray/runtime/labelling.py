"""Offline outcomes for a packing router: a distributed, resumable job with one task per question (OAS, 3.3).

```text
<output>/labels-<dataset>-<evidence>-<fingerprint>/
    config.yaml                 what was asked for
    inputs/<conversation>/      messages, questions, references
    tasks/, ledgers/            one per question
    tables/labels.parquet       a row per question, budget, action and realisation
    tables/instances.parquet    a row per question and budget, with its features
    manifest.json               written last: the tables are whole
```
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from memsif_ray.config import RunConfig, fingerprint
from memsif_ray.datasets import Dataset, load
from memsif_ray.errors import DataError
from memsif_ray.evaluation.profiles import PROFILES
from memsif_ray.packing.actions import GENERATIVE
from memsif_ray.packing.candidates import candidates
from memsif_ray.packing.evidence import gold_notes, retrieved_notes
from memsif_ray.packing.operators import Notes, shown
from memsif_ray.packing.sampling import askable, drawn
from memsif_ray.ports import TokenCounter
from memsif_ray.prompts import load as load_prompt
from memsif_ray.runtime.outcomes import Case, instances, outcomes
from memsif_ray.runtime.tasks import JobResult, Result, run_tasks
from memsif_ray.runtime.toolbox import Bench
from memsif_ray.storage.files import claimed
from memsif_ray.storage.inputs import Inputs, list_inputs, read_inputs, write_inputs
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.runs import RunFolder, write_config
from memsif_ray.types import CallScope, Context, Decision, Question

LOGIC_VERSION = 1
"""Part of every folder's name; raised by a change of code that changes results."""
METHOD = "oas-label"
"""What rows and calls of a labelling job have in the column of the method."""
_TABLES = ("labels", "instances", "decisions")
_BUDGETS = {"locomo": (16, 32, 64, 128)}
_LONGER = (32, 64, 128, 256)
"""Of LongMemEval, and of any data that the paper has no budgets for."""


def label_actions(config: RunConfig, *, progress: bool = True) -> JobResult:
    """Bring a labelling job to its end, doing only what is left of it.

    Args:
        config: Names data and models; `labelling` says what to do.
        progress: Show it on stderr.

    Raises:
        ConfigError: When the configuration is wrong, or another process works on the same job.
        DataError: When the data is not what it says, or no question can be labelled.
    """
    config = _complete(config)
    dataset = load(config.data)
    asked = drawn(dataset, config.labelling.sample, seed=config.seed)
    if not asked:
        raise DataError(f"{dataset.report.source}: no question has both a reference answer and gold evidence")
    folder = _folder(config, dataset.report.sha256)
    inputs = RunFolder(folder.path)
    with claimed(folder.path):
        write_config(inputs, config)
        if list_inputs(inputs) is None:
            write_inputs(inputs, _only(dataset, asked))
    return run_tasks(
        [LabelTask(inputs, question.conversation_id, question.question_id, config) for question in asked],
        folder=folder,
        config=config,
        progress=progress,
        tables=_TABLES,
        about=_about(config, dataset, asked),
    )


@dataclass(frozen=True, slots=True)
class LabelTask:
    """One question, which it reads from the job's folder."""

    inputs: RunFolder
    conversation_id: str
    question_id: str
    config: RunConfig

    @property
    def name(self) -> str:
        """Unique in the job, also where question ids are unique in a conversation only."""
        return f"{self.conversation_id}/{self.question_id}"

    @property
    def scope(self) -> CallScope:
        """That of the question."""
        return CallScope(METHOD, self.conversation_id, self.question_id)

    async def run(self, bench: Bench) -> Result:
        """Carry out every action. Without a candidate note there is nothing to label, which is a decision.

        Raises:
            DataError: When the conversation's file is damaged.
            ServiceError: When the embedder failed.
        """
        inputs = await asyncio.to_thread(read_inputs, self.inputs, self.conversation_id)
        (question,) = (one for one in inputs.questions if one.question_id == self.question_id)
        notes = await asyncio.to_thread(self._notes, inputs, question, bench.tools.tokens)
        if not notes:
            nothing = Decision("label", self.question_id, "skip", "rule", detail="no candidate note")
            return Result({"decisions": [self._scoped(nothing)]})
        case, budgets = Case(question, inputs.gold[self.question_id], notes), self.config.labelling.budgets
        evidence = self.config.labelling.evidence
        described = await instances(case, tools=bench.tools, evidence=evidence, budgets=budgets)
        found = await outcomes(case, bench=bench, config=self.config, budgets=budgets)
        tables = {
            "labels": found.labels,
            "instances": described,
            "decisions": [self._scoped(decision) for decision in found.decisions],
        }
        return Result(tables, found.failed, found.reason)

    def _notes(self, inputs: Inputs, question: Question, tokens: TokenCounter) -> Notes:
        messages, labelling = inputs.conversation.messages, self.config.labelling
        if labelling.evidence == "gold":
            return shown(gold_notes(messages, inputs.gold[self.question_id].evidence))
        found = retrieved_notes(messages, question.text, turns=labelling.turns)
        return candidates(Context(found), cap=self.config.packing.candidate_tokens, tokens=tokens)

    def _scoped(self, decision: Decision) -> dict[str, Any]:
        names = ("kind", "subject_id", "outcome", "decided_by", "score", "detail")
        whose = {"method": METHOD, "conversation_id": self.conversation_id, "run": None}
        return whose | {name: getattr(decision, name) for name in names}


def _complete(config: RunConfig) -> RunConfig:
    """With the budgets in it, and with no service that is not needed."""
    budgets = config.labelling.budgets or _BUDGETS.get(config.data.dataset, _LONGER)
    labelling = config.labelling.model_copy(update={"budgets": tuple(sorted(set(budgets)))})
    data = config.data.model_copy(update={"adversarial": False})
    judged = labelling.utility == "judge"
    return config.model_copy(
        update={"labelling": labelling, "data": data, "grade": judged, "entities": "rules"}
    )


def _folder(config: RunConfig, data_sha256: str) -> JobFolder:
    identity = config.identity()
    labelling = config.labelling.model_dump(mode="json")
    names = ["answer", *(f"packing/{action}" for action in GENERATIVE)]
    judge = [identity["judge"], config.judging.model_dump(mode="json")] if config.grade else None
    names += PROFILES[config.judging.profile].prompts if config.grade else ()
    meaning = fingerprint(
        {**identity["data"], "path": None},  # its digest stands for it
        data_sha256,
        labelling,
        config.packing.candidate_tokens,
        [identity["model"], identity["embedder"], judge],
        [config.seed, config.answer_max_tokens, config.answer_temperature],
        [load_prompt(name).fingerprint for name in names],
        LOGIC_VERSION,
    )
    name = f"labels-{config.data.dataset}-{config.labelling.evidence}-{meaning}"
    return JobFolder(config.execution.output.resolve() / name)


def _only(dataset: Dataset, asked: Sequence[Question]) -> Dataset:
    wanted = {question.conversation_id for question in asked}
    kept = tuple(one for one in dataset.conversations if one.conversation_id in wanted)
    return replace(dataset, conversations=kept, questions=tuple(asked))


def _about(config: RunConfig, dataset: Dataset, asked: Sequence[Question]) -> dict[str, Any]:
    judge = (config.judge or config.model).model
    labelling = config.labelling
    return {
        "kind": "labels",
        "dataset": dataset.name,
        "source": dataset.report.source,
        "sha256": dataset.report.sha256,
        "evidence": labelling.evidence,
        "budgets": list(labelling.budgets),
        "realisations": labelling.realisations,
        "grader": f"{config.judging.label} by {judge}" if config.grade else labelling.utility,
        "model": config.model.model,
        "embedder": config.embedder.model,
        "questions": len(asked),
        "askable": len(askable(dataset)),
    }
