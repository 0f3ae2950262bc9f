"""Diagnoses for people: on a terminal, and as a page with figures."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analysis.diagnosis.dum import loss_grids, lshu_grids
from analysis.diagnosis.model_free import comparable, corpus_grid, nce_grids, tsm_grids
from analysis.diagnosis.validation import validation_grids
from analysis.figures.diagnostics import asv_figure, loss_figure, sntd_figure, ted_histogram
from analysis.page import Grid, Picture, Section, write_page
from memsif_ray.datasets import LoadReport
from memsif_ray.diagnostics import published
from memsif_ray.diagnostics.corpus import CorpusSummary
from memsif_ray.diagnostics.dispersion import Change, EvidenceSpread, SpreadSummary
from memsif_ray.diagnostics.dum import DumFindings
from memsif_ray.diagnostics.pairs import Division
from memsif_ray.diagnostics.tsm import TsmAverage, TsmMeasure
from memsif_ray.diagnostics.validation import PairJudgement

_NOTHING_COMPACTED = (
    "Compaction is measured on questions with evidence of low salience and high utility. Here there is none, "
    "or not all scores are there yet."
)


class Report(NamedTuple):
    """The tables of a diagnosis, and where the page with them is."""

    grids: Sequence[Grid]
    page: Path


def as_text(grid: Grid) -> Group:
    """A table for a terminal: title above, caption below."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for place, name in enumerate(grid.header):
        table.add_column(name, justify="right" if place else "left")
    for row in grid.rows:
        table.add_row(*map(str, row))
    return Group(
        Text(grid.title, style="bold"), table, Padding(Text(grid.caption, style="dim"), (0, 0, 1, 0))
    )


def nce_report(
    folder: Path,
    source: LoadReport,
    spreads: Sequence[EvidenceSpread],
    summary: SpreadSummary,
    changes: Sequence[Change],
    *,
    reading: str,
    selected: bool,
) -> Report:
    """The dispersion of evidence, with the histogram of TED.

    Args:
        folder: Where the page goes.
        source: The file.
        spreads: Of `reading`.
        summary: Likewise.
        changes: Between the readings.
        reading: `strict` or `repaired`.
        selected: Whether some conversations were left out.
    """
    grids = nce_grids(summary, changes, reading, comparable(source, selected=selected))
    title = "Temporal evidence dispersion"
    svg = ted_histogram([spread.ted for spread in spreads if spread.ted is not None], title)
    picture = Picture("ted-histogram", title, svg, f"Questions with two {reading} ids or more.")
    sections = [Section("Non-contiguous evidence", parts=[picture, *grids])]
    return Report(grids, write_page(folder, "Dispersion of evidence", sections, facts=_facts(source)))


def corpus_report(
    folder: Path, source: LoadReport, summary: CorpusSummary, *, tokenizer: str, selected: bool
) -> Report:
    """The statistics of a dataset.

    Args:
        folder: Where the page goes.
        source: The file.
        summary: Of all conversations.
        tokenizer: Whose tokens were counted.
        selected: Whether some conversations were left out.
    """
    grid = corpus_grid(summary, tokenizer, source, comparable(source, selected=selected))
    sections = [Section("Table 12", parts=[grid])]
    return Report([grid], write_page(folder, "Dataset statistics", sections, facts=_facts(source)))


def tsm_report(
    folder: Path,
    source: LoadReport,
    measures: Sequence[TsmMeasure],
    averages: Sequence[TsmAverage],
    divisions: Sequence[Division],
    *,
    embedder: str,
    selected: bool,
) -> Report:
    """Volatility and distance of neighbours, with Figures 6 and 7.

    Args:
        folder: Where the page goes.
        source: The file.
        measures: Of each conversation.
        averages: Over conversations.
        divisions: Of pairs.
        embedder: Name of the model.
        selected: Whether some conversations were left out.
    """
    paper = comparable(source, selected=selected)
    grids = asv, sntd, pairs = tsm_grids(averages, divisions, embedder, paper)
    six, seven = "Adjacent semantic volatility", "Distance of semantic neighbours"
    told = published.SNTD.get(paper, {})
    sections = [
        Section(six, parts=[Picture("asv-by-length", six, asv_figure(measures, averages, six)), asv]),
        Section(seven, parts=[Picture("sntd-by-k", seven, sntd_figure(averages, told, seven)), sntd]),
        Section("Pairs", parts=[pairs]),
    ]
    facts = {**_facts(source), "embedder": embedder}
    return Report(grids, write_page(folder, "Temporal-structural misalignment", sections, facts=facts))


def validation_report(
    folder: Path,
    source: LoadReport,
    judgements: Sequence[PairJudgement],
    *,
    judge: str,
    embedder: str,
    selected: bool,
) -> Report:
    """What a judge says of the sampled pairs.

    Args:
        folder: Where the page goes.
        source: The file.
        judgements: Of all pairs.
        judge: Name of the model.
        embedder: Name of the model that divided the pairs.
        selected: Whether some conversations were left out.
    """
    grids = validation_grids(judgements, judge, comparable(source, selected=selected))
    facts = {**_facts(source), "judge": judge, "embedder": embedder}
    page = write_page(folder, "Shifts and threads as judged", [Section("Pairs", parts=grids)], facts=facts)
    return Report(grids, page)


def dum_report(
    folder: Path, source: LoadReport, found: DumFindings, *, about: Mapping[str, str], selected: bool
) -> Report:
    """Delayed utility, with Figure 8.

    Args:
        folder: Where the page goes.
        source: The file.
        found: Scores and losses.
        about: Names of the `judge` and of the `model`, and which `ids` count.
        selected: Whether some conversations were left out.
    """
    paper = comparable(source, selected=selected)
    seen, lost = lshu_grids(found, about["judge"], paper), loss_grids(found, paper)
    title = "Loss of details and drop of answers"
    points = loss_figure(found.points, title)
    picture = Picture("cdl-qad-points", title, points, "Numbers say how many points fall on one place.")
    scored = Section("Salience and utility", parts=seen)
    compacted = Section("Compaction", parts=[*lost, picture])
    if not found.answers:
        lost, compacted = [], Section("Compaction", [_NOTHING_COMPACTED])
    page = write_page(folder, "Delayed utility", [scored, compacted], facts={**_facts(source), **about})
    return Report([*seen, *lost], page)


def _facts(source: LoadReport) -> dict[str, str]:
    release = source.release or "no published release"
    return {"data": f"{source.source} ({release})", "SHA-256": source.sha256}
