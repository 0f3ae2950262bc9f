"""What models said that a method could not use: a low score may be theirs, not the method's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from analysis.page import Grid
from analysis.report.grids import percent

_INVALID = pl.col("outcome").str.starts_with("invalid:")
_FELL_BACK = pl.col("decided_by") == "fallback"


def reply_grids(
    calls: pl.LazyFrame, decisions: pl.LazyFrame, methods: Sequence[str], suffix: str = ""
) -> Iterator[Grid]:
    """Unusable replies, and decisions that a rule made in their place; nothing where there were none.

    A unit of work is done and no answer failed though half of what should have become memory was lost.

    Args:
        calls: Rows of `schemas.CALLS`.
        decisions: Rows of `schemas.DECISIONS`.
        methods: In the order of the rows.
        suffix: Of the files' names.
    """
    yield from _grid(
        _shares(calls.filter(pl.col("stage") != "embed"), "stage", _INVALID),
        methods,
        Grid(
            f"unusable-replies{suffix}",
            "Unusable replies by method and step",
            ["Method", "Step", "Replies", "Unusable", "%"],
            [],
            "Cut off, or not what was asked for. A step asks again a few times before it does without.",
        ),
    )
    yield from _grid(
        _shares(decisions, "kind", _FELL_BACK),
        methods,
        Grid(
            f"fallbacks{suffix}",
            "Decisions without a usable reply",
            ["Method", "Decision", "Made", "By rule instead", "%"],
            [],
            "What memory lost or guessed because no reply could be used.",
        ),
    )


def _shares(rows: pl.LazyFrame, step: str, lost: pl.Expr) -> pl.DataFrame:
    counted = rows.group_by("method", step=pl.col(step)).agg(n=pl.len(), lost=lost.sum())
    return counted.filter(pl.col("lost") > 0).sort("step").collect()


def _grid(found: pl.DataFrame, methods: Sequence[str], grid: Grid) -> Iterator[Grid]:
    by_method = found.partition_by("method", as_dict=True)
    rows = [
        [method, row["step"], f"{row['n']:,}", f"{row['lost']:,}", percent(row["lost"] / row["n"])]
        for method in methods
        for row in by_method.get((method,), found.clear()).to_dicts()
    ]
    if rows:
        yield replace(grid, rows=rows)
