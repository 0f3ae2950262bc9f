"""Temporal-Structural Misalignment as a job: one task per conversation, then what takes all of them.

Vectors come from the embedding cache that benchmark runs fill too. Beside the tables of the job there is
`samples/pair_samples.parquet`: pairs for a model to judge, drawn from all conversations together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import lru_cache

import numpy as np
import pyarrow as pa

from memsif_ray.config import RunConfig
from memsif_ray.datasets import Dataset, LoadReport, load
from memsif_ray.diagnostics.pairs import (
    ADJACENT,
    NEIGHBOUR,
    Division,
    PairColumns,
    SampledPair,
    sample_pairs,
)
from memsif_ray.diagnostics.segmentation import PAIR_LENGTH, FixedSegment, fixed_segments
from memsif_ray.diagnostics.tsm import TsmAverage, TsmMeasure, average, measure_conversation
from memsif_ray.runtime.diagnosis.model_free import diagnosis_folder
from memsif_ray.runtime.tasks import JobResult, Result, run_tasks
from memsif_ray.runtime.toolbox import Bench
from memsif_ray.schemas import PAIR_SAMPLES
from memsif_ray.storage.files import claimed
from memsif_ray.storage.inputs import list_inputs, read_inputs, write_inputs
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.sealed import SealedFolder
from memsif_ray.storage.tables import decode, encode
from memsif_ray.types import CallScope

_TABLES = ("tsm_measures", "adjacent_pairs", "neighbour_pairs")
_DIVIDED_BY = {ADJACENT: ("adjacent_pairs", "score"), NEIGHBOUR: ("neighbour_pairs", "distance")}
_CONVERSATIONS_KEPT = 32


@dataclass(frozen=True, slots=True)
class TsmTask:
    """Measures one conversation, which it reads from the job's folder."""

    conversation_id: str
    inputs: RunFolder

    @property
    def name(self) -> str:
        """The conversation's id."""
        return self.conversation_id

    @property
    def scope(self) -> CallScope:
        """For the ledger of embeddings."""
        return CallScope("diagnose-tsm", self.conversation_id)

    async def run(self, bench: Bench) -> Result:
        """Embed and measure.

        Raises:
            DataError: When the conversation's file is damaged.
            ServiceError: When the embedder failed.
        """
        conversation = read_inputs(self.inputs, self.conversation_id).conversation
        found = await measure_conversation(conversation, bench.tools.embedder)
        return Result(dict(zip(_TABLES, (found.measures, found.adjacent, found.neighbours), strict=True)))


@dataclass(frozen=True, slots=True)
class TsmDiagnosis:
    """What was measured.

    Attributes:
        job: Tables, and what failed.
        source: The file.
        embedder: Name of the model.
        measures: Of each conversation.
        averages: Over conversations.
        divisions: Of adjacent pairs and of neighbours.
    """

    job: JobResult
    source: LoadReport
    embedder: str
    measures: Sequence[TsmMeasure]
    averages: Sequence[TsmAverage]
    divisions: Sequence[Division]


def diagnose_tsm(config: RunConfig, *, progress: bool = True) -> TsmDiagnosis:
    """Measure volatility and neighbour distances of every conversation, doing only what is left of it.

    Args:
        config: Names the data and the embedder.
        progress: Show it on stderr.

    Raises:
        ConfigError: When the configuration is wrong, or another process works on the same diagnosis.
        DataError: When the data is not what it says.
    """
    # Like the paper, not of histories whose only question is to be abstained from (LongMemEval).
    config = config.model_copy(update={"data": config.data.model_copy(update={"adversarial": False})})
    dataset = load(config.data)
    embedder = config.identity()["embedder"]
    folder = diagnosis_folder("tsm", config, dataset.report.sha256, embedder)
    job = run_tasks(
        _tasks(dataset, folder),
        folder=folder,
        config=config.model_copy(update={"entities": "rules"}),  # nobody looks for any: load no tagger
        progress=progress,
        tables=_TABLES,
        about={"dataset": dataset.name, "source": dataset.report.source, "embedder": embedder},
        chat=False,
    )
    measures = decode(folder.tables.read("tsm_measures"), TsmMeasure)
    divisions = _write_samples(folder)
    return TsmDiagnosis(job, dataset.report, config.embedder.model, measures, average(measures), divisions)


def _tasks(dataset: Dataset, folder: JobFolder) -> list[TsmTask]:
    inputs = RunFolder(folder.path)
    with claimed(folder.path):
        if list_inputs(inputs) is None:
            write_inputs(inputs, dataset)
    return [TsmTask(conversation.conversation_id, inputs) for conversation in dataset.conversations]


def pair_samples(folder: JobFolder) -> SealedFolder:
    """The sampled pairs of a diagnosis, as table `pair_samples`."""
    return SealedFolder(folder.path / "samples", folder.path / "samples.json")


def _write_samples(folder: JobFolder) -> list[Division]:
    inputs = RunFolder(folder.path)

    @lru_cache(maxsize=_CONVERSATIONS_KEPT)
    def segments(conversation_id: str) -> list[FixedSegment]:
        return fixed_segments(read_inputs(inputs, conversation_id).conversation.messages, PAIR_LENGTH)

    samples: list[SampledPair] = []
    divisions = []
    for kind, (table, column) in _DIVIDED_BY.items():
        drawn, division = sample_pairs(kind, _columns(folder.tables.read(table), column), segments)
        samples += drawn
        divisions.append(division)
    about = {"divisions": [asdict(division) for division in divisions]}
    pair_samples(folder).write({"pair_samples": [encode(samples, PAIR_SAMPLES)]}, about)
    return divisions


def _columns(table: pa.Table, values: str) -> PairColumns:
    return PairColumns(
        table["conversation_id"].to_pylist(),
        table["left"].to_numpy().astype(np.int64),
        table["right"].to_numpy().astype(np.int64),
        table[values].to_numpy(),
    )
