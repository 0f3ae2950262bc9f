"""Where a report's numbers come from: configuration, models, prompts, data."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl
import yaml

from analysis.page import Folded, Grid, Section
from analysis.questions import scan
from analysis.report.study import Run
from analysis.verdicts import gradings
from memsif_ray.schemas import CALLS

_MOST_REASONS = 3
_INPUTS = ("conversations", "messages", "questions", "gold")


def problems(run: Run) -> list[str]:
    """Why a run is not complete, one reason a line; none when it is."""
    units, lost = _unfinished(run).height, run.table("answers").filter(pl.col("answer").is_null()).collect()
    found = [f"units of work not done: {units}"] if units else []
    if lost.height:
        reasons = "; ".join(lost["error"].unique().sort().head(_MOST_REASONS))
        found.append(f"{lost.height:,} of {_count(run, 'answers'):,} answers failed ({reasons})")
    if not run.manifest.get("complete", False) and not found:
        found.append("it was not brought to its end")
    halves = [folder.name for folder, about in gradings(run.path) if not about.get("complete", True)]
    return [*found, *(f"the grading {name} lacks verdicts" for name in halves)]


def _unfinished(run: Run) -> pl.DataFrame:
    return run.table("units").filter(pl.col("status") != "done").collect()


def _count(run: Run, table: str) -> int:
    return int(run.table(table).select(pl.len()).collect().item())


def provenance(runs: Sequence[Run]) -> Section:
    """Everything needed to see what was run, and to run it again."""
    return Section(
        "Provenance",
        ["Two runs with the same data digests asked the same questions about the same messages."],
        [
            _runs_grid(runs),
            *_unfinished_grids(runs),
            _calls_grid(runs),
            _data_grid(runs),
            *(
                Folded(
                    f"Configuration of {run.path.name}",
                    [("config.yaml", yaml.safe_dump(dict(run.config), allow_unicode=True, sort_keys=False))],
                )
                for run in runs
            ),
        ],
    )


def _runs_grid(runs: Sequence[Run]) -> Grid:
    rows = []
    for run in runs:
        counts = [f"{_count(run, name):,}" for name in ("conversations", "messages", "questions", "answers")]
        state = "incomplete" if problems(run) else "complete"
        seeds = (str(run.config.get("seed", "")), str(run.config.get("runs", "")))
        rows.append([run.path.name, " and ".join(run.datasets), *counts, *seeds, state])
    header = (
        "Run",
        "Dataset",
        "Conversations",
        "Messages",
        "Questions",
        "Answers",
        "Seed",
        "Repeats",
        "State",
    )
    return Grid("runs", "Runs", header, rows)


def _unfinished_grids(runs: Sequence[Run]) -> Iterator[Grid]:
    rows = [
        [run.path.name, row["method"], row["conversation_id"], row["stage"], row["status"], row["reason"]]
        for run in runs
        for row in _unfinished(run).to_dicts()
    ]
    if rows:
        header = ("Run", "Method", "Conversation", "Stage", "Status", "Reason")
        yield Grid("unfinished", "Work that is not done", header, rows)


def _calls_grid(runs: Sequence[Run]) -> Grid:
    rows: list[list[str]] = []
    for run in runs:
        rows += _call_rows(run.path.name, run.table("calls"))
        for folder, about in gradings(run.path):
            calls = scan(folder / "tables" / "calls.parquet", CALLS)
            rows += _call_rows(f"{run.path.name}, graded again: {about.get('profile', folder.name)}", calls)
    return Grid(
        "prompts",
        "Models and prompts",
        ("Run", "Stage", "Model", "Prompt", "Fingerprint", "Calls"),
        rows,
        "A prompt's fingerprint changes with its text or its schema.",
    )


def _call_rows(name: str, calls: pl.LazyFrame) -> Iterator[list[str]]:
    by = ("stage", "model", "prompt_id", "prompt_fingerprint")
    for row in calls.group_by(by).agg(n=pl.len()).sort(by).collect().to_dicts():
        named = (row["prompt_id"] or "–", row["prompt_fingerprint"] or "–")
        yield [name, row["stage"], row["model"], *named, f"{row['n']:,}"]


def _data_grid(runs: Sequence[Run]) -> Grid:
    rows = [[run.path.name, *row] for run in runs for row in (*_source_rows(run), *_input_rows(run))]
    return Grid(
        "data",
        "Data as it was read and asked",
        ("Run", "File or table", "Rows", "SHA-256"),
        rows,
        "Tables hold what was selected of the file. Runs of early versions do not know its digest.",
    )


def _source_rows(run: Run) -> Iterator[list[str]]:
    data = run.manifest.get("data")
    if data:
        known = f" ({data['release']})" if data["release"] else ""
        yield [f"{data['source']}{known}", "–", data["sha256"]]


def _input_rows(run: Run) -> Iterator[list[str]]:
    for name, seal in run.manifest.get("tables", {}).items():
        if name in _INPUTS:
            yield [name, f"{seal['rows']:,}", seal["sha256"]]
