"""Diagnoses of a dataset file that need neither a model nor Ray, and where every diagnosis is written.

```text
<output>/diagnosis-<kind>-<fingerprint>/
    tables/<table>.parquet   rows
    manifest.json            written last: the tables are whole
    nce_questions.txt        of `nce`: ids of the subset, for `memsif run --questions FILE`
    report.html, figures/    for people
```
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from memsif_ray.clients.cl100k import Cl100kCounter
from memsif_ray.config import RunConfig, fingerprint
from memsif_ray.datasets import Dataset, LoadReport, load
from memsif_ray.diagnostics import corpus, dispersion
from memsif_ray.diagnostics.corpus import CorpusSummary, HistoryStatistics
from memsif_ray.diagnostics.dispersion import Change, EvidenceSpread, Reading, SpreadSummary
from memsif_ray.schemas import TABLES
from memsif_ray.storage.files import claimed, write_text
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.tables import encode

LOGIC_VERSION = 1
"""Part of every folder's name; raised by a change of code that changes what a diagnosis finds."""
TOKENIZER = Cl100kCounter.name
_SUBSET = "nce_questions.txt"


@dataclass(frozen=True, slots=True)
class NceDiagnosis:
    """How far evidence is dispersed.

    Attributes:
        folder: Where the rows are.
        source: The file.
        reading: Which ids count.
        spreads: One per scored question.
        summary: Of them.
        changes: What the other reading sees differently.
        subset: The file with the ids of the NCE subset.
    """

    folder: JobFolder
    source: LoadReport
    reading: Reading
    spreads: Sequence[EvidenceSpread]
    summary: SpreadSummary
    changes: Sequence[Change]
    subset: Path


@dataclass(frozen=True, slots=True)
class CorpusDiagnosis:
    """The statistics of a dataset.

    Attributes:
        folder: Where the rows are.
        source: The file.
        tokenizer: Whose tokens are counted.
        histories: One per conversation.
        summary: Of them.
    """

    folder: JobFolder
    source: LoadReport
    tokenizer: str
    histories: Sequence[HistoryStatistics]
    summary: CorpusSummary


def diagnosis_folder(kind: str, config: RunConfig, data_sha256: str, *settings: Any) -> JobFolder:
    """Where a diagnosis belongs: the same data and settings give the same folder on every machine."""
    data = {**config.identity()["data"], "path": None}  # its digest stands for it
    name = f"diagnosis-{kind}-{fingerprint(data, data_sha256, settings, LOGIC_VERSION)}"
    return JobFolder(config.execution.output.resolve() / name)


def diagnose_nce(config: RunConfig, reading: Reading) -> NceDiagnosis:
    """Measure TED for every scored question, and write the NCE subset.

    Raises:
        ConfigError: When there is nothing to read, or another process writes the same diagnosis.
        DataError: When the data is not what it says.
    """
    dataset = load(config.data)
    strict, repaired = (dispersion.evidence_spreads(dataset, kind) for kind in Reading)
    spreads = strict if reading is Reading.STRICT else repaired
    summary = dispersion.summarise(spreads)
    folder = diagnosis_folder("nce", config, dataset.report.sha256, reading)
    subset = folder.path / _SUBSET
    with claimed(folder.path):
        _write(folder, dataset, "evidence_spreads", spreads, reading=reading, summary=asdict(summary))
        write_text(subset, "".join(f"{spread.question_id}\n" for spread in spreads if spread.nce))
    changed = dispersion.changes(strict, repaired)
    return NceDiagnosis(folder, dataset.report, reading, spreads, summary, changed, subset)


def diagnose_corpus(config: RunConfig) -> CorpusDiagnosis:
    """Count sessions, tokens, days and questions of every conversation.

    Raises:
        ConfigError: When there is nothing to read, or another process writes the same diagnosis.
        DataError: When the data is not what it says.
    """
    dataset = load(config.data)
    histories = corpus.history_statistics(dataset, Cl100kCounter())
    summary = corpus.summarise(dataset, histories)
    folder = diagnosis_folder("stats", config, dataset.report.sha256, TOKENIZER)
    with claimed(folder.path):
        _write(folder, dataset, "history_statistics", histories, tokenizer=TOKENIZER, summary=asdict(summary))
    return CorpusDiagnosis(folder, dataset.report, TOKENIZER, histories, summary)


def _write(folder: JobFolder, dataset: Dataset, table: str, rows: Sequence[Any], **about: Any) -> None:
    source = {"dataset": dataset.name, "source": dataset.report.source, "sha256": dataset.report.sha256}
    folder.tables.write({table: [encode(rows, TABLES[table])]}, {**source, **about, "complete": True})
