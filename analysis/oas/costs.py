"""What evidence and actions cost in tokens and calls, as tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from analysis.oas.grids import NONE, percent
from analysis.page import Grid
from memsif_ray.packing.evidence_cost import PAPER_FULL_FIT, PAPER_MEDIAN, EvidenceCost, Spread


def label_grid(labels: pa.Table) -> Grid:
    """What the actions cost, and how often they came to nothing."""
    header = ("action", "B", "rows", "util", "none", "tok", "empty", "cut", "calls", "gen")
    told = (
        "util: mean utility in %; none: rows without a utility; tok: tokens packed; empty: % of rows into "
        "which nothing fits; cut: % whose text had to be cut; calls and generated tokens: of a row by itself."
    )
    cells = [_label_cells(row) for row in _label_means(labels).iter_rows(named=True)]
    return Grid("oas-labels", "Outcomes of the actions", header, cells, told)


def _label_means(labels: pa.Table) -> pl.DataFrame:
    """One row per budget and action."""
    return (
        pl.DataFrame(pl.from_arrow(labels))
        .group_by("budget", "action", maintain_order=True)
        .agg(
            pl.len().alias("rows"),
            pl.col("utility").mean(),
            pl.col("utility").is_null().sum().alias("ungraded"),
            pl.col("tokens").mean(),
            (pl.col("flag") == "nothing_fits").mean().alias("empty"),
            pl.col("shortened").mean(),
            pl.col("calls").mean(),
            pl.col("completion_tokens").mean(),
        )
        .sort("budget", maintain_order=True)
    )


def _label_cells(row: Mapping[str, Any]) -> tuple[str, ...]:
    return (
        str(row["action"]),
        str(row["budget"]),
        f"{row['rows']:,}",
        percent(row["utility"]),
        str(row["ungraded"]),
        _number(row["tokens"]),
        percent(row["empty"]),
        percent(row["shortened"]),
        _number(row["calls"]),
        _number(row["completion_tokens"]),
    )


def evidence_grid(costs: Sequence[EvidenceCost], tokenizer: str, source: str) -> Grid:
    """Evidence costs beside the paper's."""
    header = ["", "paper"]
    for cost in costs:
        header += [cost.rendering, "in like splits"]
    budgets = list(costs[0].full_fit)
    rows = [
        ("median evidence turn", f"{PAPER_MEDIAN:.0f}", *_medians(costs)),
        *(_fits(budget, costs) for budget in budgets),
    ]
    (first, *_) = costs
    told = (
        f"{source}: {first.turns:,} evidence turns of {first.questions:,} questions, in tokens of "
        f"{tokenizer}. Below the first row: % of questions all of whose evidence fits. In like splits: mean "
        "and middle 95 % of random splits of 75 questions with as many of each type as the paper's test "
        "split. What is left between the two is the tokenizer, which the paper does not name, and what it "
        "packs of a turn."
    )
    return Grid("oas-evidence", "Evidence turns", header, rows, told)


def _medians(costs: Sequence[EvidenceCost]) -> Iterator[str]:
    for cost in costs:
        yield f"{cost.median_turn:g}"
        yield _spread(cost.like_paper.get(0), 1.0)


def _fits(budget: int, costs: Sequence[EvidenceCost]) -> tuple[str, ...]:
    cells = [str(budget), percent(PAPER_FULL_FIT.get(budget))]
    for cost in costs:
        cells += [percent(cost.full_fit[budget]), _spread(cost.like_paper.get(budget), 100.0)]
    return tuple(cells)


def _spread(spread: Spread | None, scale: float) -> str:
    if spread is None:
        return NONE
    return f"{scale * spread.mean:.1f} [{scale * spread.low:.1f}, {scale * spread.high:.1f}]"


def _number(value: float | None) -> str:
    return NONE if value is None else f"{value:,.1f}"
