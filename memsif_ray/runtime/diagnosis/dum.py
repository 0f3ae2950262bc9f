"""Delayed Utility Manifestation: evidence is scored, then what compaction loses of it is measured.

Two jobs, one after the other, each with one task per conversation: the sample of the second is drawn from
what the first found in all conversations.

```text
<output>/diagnosis-dum-<fingerprint>/
    inputs/, tasks/, ledgers/, tables/   of the scores
    lshu_questions.txt                   ids of the subset, for `memsif run --questions FILE`
    compaction/                          the same for facts and answers that are judged
    losses/compaction_losses.parquet     CDL and QAD of each question
    report.html, figures/                for people
```
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from memsif_ray.config import RunConfig
from memsif_ray.datasets import Dataset, LoadReport, load
from memsif_ray.diagnostics import compaction, scoring
from memsif_ray.diagnostics.compaction import Answering, CompactedAnswer, Recovery
from memsif_ray.diagnostics.dum import DumFindings
from memsif_ray.diagnostics.loss import loss_points
from memsif_ray.diagnostics.lshu import EvidenceScore, by_question, subset
from memsif_ray.diagnostics.sampling import stratified_sample
from memsif_ray.errors import DataError
from memsif_ray.prompts import load as load_prompt
from memsif_ray.runtime.diagnosis.dum_tasks import CompactionTask, Pair, ScoreTask
from memsif_ray.runtime.diagnosis.model_free import diagnosis_folder
from memsif_ray.runtime.tasks import JobResult, run_tasks
from memsif_ray.schemas import COMPACTION_LOSSES
from memsif_ray.storage.files import claimed, write_text
from memsif_ray.storage.inputs import list_inputs, write_inputs
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.sealed import SealedFolder
from memsif_ray.storage.tables import decode, encode

LOGIC_VERSION = 1
"""Part of the folder's name; raised by a change of code that changes what is found."""
COMPACTED = 100
"""Questions of the subset that compaction is measured on (MemSIF, Appendix A.5)."""


@dataclass(frozen=True, slots=True)
class DumDiagnosis:
    """What was found.

    Attributes:
        scored: The job of the scores.
        compacted: The job that measures compaction; None until all scores are there.
        source: The file.
        about: Names of the `judge` and of the `model`, and which `ids` count.
        subset_file: Ids of the LSHU subset.
        findings: Scores and losses.
    """

    scored: JobResult
    compacted: JobResult | None
    source: LoadReport
    about: Mapping[str, str]
    subset_file: Path
    findings: DumFindings

    @property
    def last_job(self) -> JobResult:
        """The job that says how it ended."""
        return self.compacted or self.scored


def diagnose_dum(config: RunConfig, *, progress: bool = True) -> DumDiagnosis:
    """Score the evidence of questions and measure what compaction loses, doing only what is left of it.

    Args:
        config: Names the data and the models. Its judge scores and judges, its model answers.
        progress: Show it on stderr.

    Raises:
        ConfigError: When the configuration is wrong, or another process works on the same diagnosis.
        DataError: When the data is not what it says, or no question has evidence.
    """
    data = config.data.model_copy(update={"adversarial": False})
    config = config.model_copy(update={"data": data, "grade": True, "entities": "rules"})
    dataset, evidence = _drawn(load(config.data), config)
    folder = _folder(config, dataset)
    scored = _score(dataset, evidence, folder=folder, config=config, progress=progress)
    scores = decode(folder.tables.read("evidence_scores"), EvidenceScore)
    found = subset(scores)
    subset_file = folder.path / "lshu_questions.txt"
    write_text(subset_file, "".join(f"{name}\n" for name in found))
    # A score that is still to come may change the sample, so compaction waits for the last of them.
    sample = () if scored.failures else stratified_sample(found, COMPACTED)
    tasks = _compaction_tasks(RunFolder(folder.path), scores, sample, config)
    about = {**_about(config, dataset), "sample": list(sample)}
    compacted = None if scored.failures else _compact(tasks, folder, about, config=config, progress=progress)
    recoveries, answers = _judged(compacted)
    points = loss_points(recoveries, answers)
    _losses(folder).write({"compaction_losses": [encode(points, COMPACTION_LOSSES)]}, {})
    questions = {question.question_id: question.category for question in dataset.questions}
    return DumDiagnosis(
        scored,
        compacted,
        dataset.report,
        _names(config),
        subset_file,
        DumFindings(questions, scores, sample, recoveries, answers, points),
    )


def _score(
    dataset: Dataset,
    evidence: Mapping[str, Sequence[str]],
    *,
    folder: JobFolder,
    config: RunConfig,
    progress: bool,
) -> JobResult:
    inputs = RunFolder(folder.path)
    with claimed(folder.path):
        if list_inputs(inputs) is None:
            write_inputs(inputs, dataset)
    return run_tasks(
        _score_tasks(inputs, dataset, evidence),
        folder=folder,
        config=config,
        progress=progress,
        tables=("evidence_scores",),
        about=_about(config, dataset),
    )


def _compact(
    tasks: Sequence[CompactionTask],
    folder: JobFolder,
    about: Mapping[str, Any],
    *,
    config: RunConfig,
    progress: bool,
) -> JobResult:
    return run_tasks(
        tasks,
        folder=JobFolder(folder.path / "compaction"),
        config=config,
        progress=progress,
        tables=("recoveries", "compacted_answers"),
        about=about,
    )


def _drawn(dataset: Dataset, config: RunConfig) -> tuple[Dataset, Mapping[str, Sequence[str]]]:
    """The questions to look at, with their evidence."""
    repaired = {name: gold.evidence for name, gold in dataset.gold.items()}
    evidence = dataset.strict_evidence if config.diagnosis.ids == "strict" else repaired
    if not any(evidence.values()):
        raise DataError(f"{dataset.report.source}: no question has gold evidence")
    if config.diagnosis.questions is None:
        return dataset, evidence
    able = {q.question_id: q.category.value for q in dataset.questions if evidence[q.question_id]}
    wanted = set(stratified_sample(able, config.diagnosis.questions))
    questions = tuple(q for q in dataset.questions if q.question_id in wanted)
    named = {question.conversation_id for question in questions}
    conversations = tuple(one for one in dataset.conversations if one.conversation_id in named)
    return replace(dataset, conversations=conversations, questions=questions), evidence


def _folder(config: RunConfig, dataset: Dataset) -> JobFolder:
    identity = config.identity()
    return diagnosis_folder(
        "dum",
        config,
        dataset.report.sha256,
        config.diagnosis.model_dump(mode="json"),
        [identity["model"], identity["judge"], config.seed],
        [config.answer_max_tokens, config.answer_temperature],
        [load_prompt(name).fingerprint for name in (*scoring.PROMPTS, *compaction.PROMPTS)],
        LOGIC_VERSION,
    )


def _about(config: RunConfig, dataset: Dataset) -> dict[str, Any]:
    return {
        "dataset": dataset.name,
        "source": dataset.report.source,
        "sha256": dataset.report.sha256,
        "questions": len(dataset.questions),
        **_names(config),
    }


def _names(config: RunConfig) -> dict[str, str]:
    judge = config.judge or config.model
    return {"judge": judge.model, "model": config.model.model, "ids": config.diagnosis.ids}


def _score_tasks(
    inputs: RunFolder, dataset: Dataset, evidence: Mapping[str, Sequence[str]]
) -> list[ScoreTask]:
    pairs: dict[str, list[Pair]] = {}
    for question in dataset.questions:
        of_question = [(question.question_id, name) for name in evidence[question.question_id]]
        pairs.setdefault(question.conversation_id, []).extend(of_question)
    return [ScoreTask(inputs, name, tuple(rows)) for name, rows in pairs.items() if rows]


def _compaction_tasks(
    inputs: RunFolder, scores: Sequence[EvidenceScore], sample: Sequence[str], config: RunConfig
) -> list[CompactionTask]:
    evidence: dict[str, dict[str, dict[str, int | None]]] = {}
    rows = by_question(scores)
    for name in sample:
        of_question = {score.message_id: score.salience for score in rows[name]}
        evidence.setdefault(rows[name][0].conversation_id, {})[name] = of_question
    answering = Answering(config.answer_max_tokens, config.answer_temperature)
    return [CompactionTask(inputs, name, evidence[name], answering) for name in sorted(evidence)]


def _judged(job: JobResult | None) -> tuple[list[Recovery], list[CompactedAnswer]]:
    if job is None:
        return [], []
    tables = job.folder.tables
    return (
        decode(tables.read("recoveries"), Recovery),
        decode(tables.read("compacted_answers"), CompactedAnswer),
    )


def _losses(folder: JobFolder) -> SealedFolder:
    return SealedFolder(folder.path / "losses", folder.path / "losses.json")
