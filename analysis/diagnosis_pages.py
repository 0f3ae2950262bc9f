"""Diagnoses for people: on a terminal, and as a page with figures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analysis.figures.diagnostics import asv_figure, sntd_figure, ted_histogram
from analysis.page import Grid, Picture, Section, write_page
from memsif_ray.datasets import LoadReport
from memsif_ray.diagnostics import published
from memsif_ray.diagnostics.dispersion import EvidenceSpread
from memsif_ray.diagnostics.tsm import TsmAverage, TsmMeasure


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


def write_nce_page(
    folder: Path, source: LoadReport, spreads: Sequence[EvidenceSpread], grids: Sequence[Grid]
) -> Path:
    """`report.html` with the histogram of TED; returns its path."""
    teds = [spread.ted for spread in spreads if spread.ted is not None]
    title = "Temporal evidence dispersion"
    picture = Picture("ted-histogram", title, ted_histogram(teds, title), "Questions with two ids or more.")
    sections = [Section("Non-contiguous evidence", parts=[picture, *grids])]
    return write_page(folder, "Dispersion of evidence", sections, facts=_facts(source))


def write_corpus_page(folder: Path, source: LoadReport, grid: Grid) -> Path:
    """`report.html` with the statistics; returns its path."""
    return write_page(folder, "Dataset statistics", [Section("Table 12", parts=[grid])], facts=_facts(source))


def write_tsm_page(
    folder: Path,
    source: LoadReport,
    measures: Sequence[TsmMeasure],
    averages: Sequence[TsmAverage],
    grids: Sequence[Grid],
    *,
    embedder: str,
    paper: str,
) -> Path:
    """`report.html` with Figures 6 and 7 and the three tables; returns its path."""
    asv, sntd, pairs = grids
    six, seven = "Adjacent semantic volatility", "Distance of semantic neighbours"
    told = published.SNTD.get(paper, {})
    facts = {**_facts(source), "embedder": embedder}
    sections = [
        Section(six, parts=[Picture("asv-by-length", six, asv_figure(measures, averages, six)), asv]),
        Section(seven, parts=[Picture("sntd-by-k", seven, sntd_figure(averages, told, seven)), sntd]),
        Section("Pairs", parts=[pairs]),
    ]
    return write_page(folder, "Temporal-structural misalignment", sections, facts=facts)


def _facts(source: LoadReport) -> dict[str, str]:
    release = source.release or "no published release"
    return {"data": f"{source.source} ({release})", "SHA-256": source.sha256}
