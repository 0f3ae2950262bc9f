"""What models said that a method could not use: a low score may be theirs, not the method's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import polars as pl

from analysis.page import Grid
from analysis.report.grids import percent

_INVALID = pl.col("outcome").str.starts_with("invalid:")
_BY = pl.col("decided_by")
_FELL_BACK = _BY == "fallback"
_LOST = _FELL_BACK | ((_BY == "llm") & (pl.col("outcome") == "failed"))
"""MemSIF writes down so that a segment yielded nothing readable."""


def decided(decisions: pl.LazyFrame, operations: pl.LazyFrame) -> pl.LazyFrame:
    """What memory decided and wrote: method, kind, and whether it had to do without a usable reply (`lost`).

    Args:
        decisions: Rows of `schemas.DECISIONS`.
        operations: Rows of `schemas.FACT_OPERATIONS`; their kinds are `core facts` and `active facts`.
    """
    written = operations.select("method", kind=pl.col("track") + " facts", lost=_FELL_BACK)
    return pl.concat([decisions.select("method", "kind", lost=_LOST), written])


def fallbacks(made: pl.LazyFrame) -> dict[str, int]:
    """Per method how much of what [`decided`][analysis.report.reply_grids.decided] gives was lost."""
    return dict(made.group_by("method").agg(pl.col("lost").sum()).collect().iter_rows())


def reply_grids(
    calls: pl.LazyFrame, made: pl.LazyFrame, methods: Sequence[str], suffix: str = ""
) -> Iterator[Grid]:
    """Unusable replies, and decisions that a rule made in their place; nothing where there were none.

    A unit of work is done and no answer failed though half of what should have become memory was lost.

    Args:
        calls: Rows of `schemas.CALLS`.
        made: From [`decided`][analysis.report.reply_grids.decided].
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
        _shares(made, "kind", pl.col("lost")),
        methods,
        Grid(
            f"fallbacks{suffix}",
            "Decisions without a usable reply",
            ["Method", "Decision", "Written down", "Lost", "%"],
            [],
            "What memory lost, or a rule decided instead, because no reply could be used. Some systems write "
            "a decision down only then, so 100 % is of those: set the number beside the replies of the step.",
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
