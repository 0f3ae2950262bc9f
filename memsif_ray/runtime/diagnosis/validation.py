"""Lets a judge check what was measured of temporal-structural misalignment: one task per conversation."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from memsif_ray.config import RunConfig
from memsif_ray.diagnostics.pairs import SampledPair
from memsif_ray.diagnostics.sampling import seeded_sample
from memsif_ray.diagnostics.validation import PROMPTS, PairJudgement, judge_pair
from memsif_ray.diagnostics.voting import Ballot
from memsif_ray.prompts import load as load_prompt
from memsif_ray.runtime.diagnosis.model_free import diagnosis_folder
from memsif_ray.runtime.diagnosis.tsm import TsmDiagnosis, diagnose_tsm, pair_samples
from memsif_ray.runtime.rowwise import each
from memsif_ray.runtime.tasks import JobResult, Result, run_tasks
from memsif_ray.runtime.toolbox import Bench
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.tables import decode
from memsif_ray.types import CallScope

LOGIC_VERSION = 1
"""Part of the folder's name; raised by a change of code that changes what is found."""


@dataclass(frozen=True, slots=True)
class JudgeTask:
    """Judges the sampled pairs of one conversation, which it reads from the folder of the measurement.

    Attributes:
        per_bucket: Pairs to judge of each bucket, over all conversations; None for all.
    """

    measured: JobFolder
    conversation_id: str
    per_bucket: int | None

    @property
    def name(self) -> str:
        """The conversation's id."""
        return self.conversation_id

    @property
    def scope(self) -> CallScope:
        """That of the conversation."""
        return CallScope("diagnose-validate", self.conversation_id)

    async def run(self, bench: Bench) -> Result:
        """Judge each pair by itself, kinds and buckets mixed.

        Raises:
            DataError: When the pairs' file is damaged.
        """
        pairs = {
            pair.pair_id: pair
            for pair in await asyncio.to_thread(read_pairs, self.measured, self.per_bucket)
            if pair.conversation_id == self.conversation_id
        }
        judge = bench.judge or bench.tools.chat
        order = seeded_sample(pairs, len(pairs))
        found = await each(
            order, lambda name: judge_pair(pairs[name], judge=judge, scope=bench.tools.scope_of(name))
        )
        rows = [
            found.values.get(name) or _unjudged(pair, found.failures[name]) for name, pair in pairs.items()
        ]
        reason = next(iter(found.failures.values()), "")
        return Result({"pair_judgements": rows}, len(found.failures), reason)


@dataclass(frozen=True, slots=True)
class ValidationDiagnosis:
    """What the judge says.

    Attributes:
        folder: Where the judgements are.
        tsm: The measurement whose pairs are judged.
        job: The judging; None when the measurement is not complete, so that its sample may change.
        judge: Name of the model.
        judgements: One per pair.
    """

    folder: JobFolder
    tsm: TsmDiagnosis
    job: JobResult | None
    judge: str
    judgements: Sequence[PairJudgement]

    @property
    def last_job(self) -> JobResult:
        """The job that says how it ended."""
        return self.job or self.tsm.job


def diagnose_validation(config: RunConfig, *, progress: bool = True) -> ValidationDiagnosis:
    """Measure what is left to measure, then judge the pairs that are left to judge.

    Args:
        config: Names the data, the embedder and the judge.
        progress: Show it on stderr.

    Raises:
        ConfigError: When the configuration is wrong, or another process works on the same diagnosis.
        DataError: When the data is not what it says.
    """
    tsm = diagnose_tsm(config, progress=progress)
    model = config.judge or config.model
    # The judge is the one chat model of this job: whatever would answer questions is not started.
    config = config.model_copy(update={"model": model, "judge": None, "grade": True, "entities": "rules"})
    folder = _folder(config, tsm)
    if tsm.job.failures:
        return ValidationDiagnosis(folder, tsm, None, model.model, [])
    measured, limit = tsm.job.folder, config.diagnosis.pairs
    names = sorted({pair.conversation_id for pair in read_pairs(measured, limit)})
    job = run_tasks(
        [JudgeTask(measured, name, limit) for name in names],
        folder=folder,
        config=config,
        progress=progress,
        tables=("pair_judgements",),
        about={"source": tsm.source.source, "judge": model.model, "embedder": tsm.embedder},
    )
    judgements = decode(folder.tables.read("pair_judgements"), PairJudgement)
    return ValidationDiagnosis(folder, tsm, job, model.model, judgements)


def _folder(config: RunConfig, tsm: TsmDiagnosis) -> JobFolder:
    identity = config.identity()
    return diagnosis_folder(
        "validation",
        config,
        tsm.source.sha256,
        [identity["embedder"], identity["model"], config.diagnosis.pairs],
        [load_prompt(name).fingerprint for name in PROMPTS.values()],
        LOGIC_VERSION,
    )


def read_pairs(measured: JobFolder, per_bucket: int | None = None) -> list[SampledPair]:
    """The pairs that a measurement has drawn, at most `per_bucket` of each bucket.

    They lie in the order in which they were drawn, so the first ones are a sample, too.

    Raises:
        DataError: When their file is damaged.
    """
    drawn: dict[tuple[str, str], list[SampledPair]] = {}
    for pair in decode(pair_samples(measured).read("pair_samples"), SampledPair):
        drawn.setdefault((pair.kind, pair.bucket), []).append(pair)
    return [pair for pairs in drawn.values() for pair in pairs[:per_bucket]]


def _unjudged(pair: SampledPair, reason: str) -> PairJudgement:
    ballot = Ballot(None, reason)
    return PairJudgement(
        pair.pair_id, pair.kind, pair.bucket, pair.conversation_id, ballot.label, ballot.reason, ballot.votes
    )
