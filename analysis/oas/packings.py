"""What packing decided in runs with a token budget: chosen actions by method, policy and budget."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl

from analysis.oas.grids import percent
from analysis.page import Grid, Section
from analysis.report.study import Run
from memsif_ray.packing.actions import ACTIONS

_TOLD = (
    "Questions by the action that was carried out, in %. offered and tok: mean tokens of the lines on offer "
    "and of those the answer prompt shows; empty: % of questions without any line; held: % for which "
    "a safe router retained although another action promised more; fallback: texts that no model wrote."
)


def packings(runs: Sequence[Run]) -> list[Section]:
    """A section with one table per run that had a budget; no section without such a run."""
    parts = [
        Grid(f"packing-{number}", _title(run, len(runs)), _HEADER, rows, _TOLD)
        for number, run in enumerate(runs, start=1)
        if (rows := list(_rows(run)))
    ]
    return [Section("Packing under a budget", parts=parts)] if parts else []


_HEADER = (
    "method",
    "policy",
    "B",
    "n",
    *map(str, ACTIONS),
    "offered",
    "tok",
    "empty",
    "held",
    "fallback",
)


def _title(run: Run, runs: int) -> str:
    return "Chosen actions" + (f": {run.label or run.path.name}" if runs > 1 else "")


def _rows(run: Run) -> Iterator[tuple[str, ...]]:
    shares = [(pl.col("action") == action.value).mean().alias(action.value) for action in ACTIONS]
    grouped = (
        run.table("packings")
        .group_by("method", "policy", "budget")
        .agg(
            pl.len().alias("n"),
            *shares,
            pl.col("candidate_tokens").mean(),
            pl.col("tokens").mean(),
            (pl.col("packed") == 0).mean().alias("empty"),
            (pl.col("reason") != "").mean().alias("held"),
            pl.col("fallbacks").sum(),
        )
    )
    for row in grouped.sort("method", "policy", "budget").collect().iter_rows(named=True):
        yield _cells(row)


def _cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        row["method"],
        row["policy"],
        str(row["budget"]),
        f"{row['n']:,}",
        *(percent(row[action.value]) for action in ACTIONS),
        f"{row['candidate_tokens']:,.1f}",
        f"{row['tokens']:,.1f}",
        percent(row["empty"]),
        percent(row["held"]),
        str(row["fallbacks"]),
    )
