"""Tables of a report that tell what methods cost."""

from __future__ import annotations

from collections.abc import Sequence

from analysis.page import Grid
from analysis.report.grids import MARKS, Row, marked, metered, number, percent, totals
from analysis.tables import Summary


def cost_grid(summary: Summary, methods: Sequence[str], name: str = "costs") -> Grid:
    """The paper's Table 18."""
    rows = [row for _, row in _in_order(summary, methods)]
    columns = [
        marked([row["acc"] for row in rows], [percent(row["acc"]) for row in rows]),
        marked([row["f1"] for row in rows], [percent(row["f1"]) for row in rows]),
        marked([row["tokens"] for row in rows], [metered(row) for row in rows], smallest=True),
        marked([row["model_s"] for row in rows], [f"{row['model_s']:.2f}" for row in rows], smallest=True),
    ]
    return Grid(
        name,
        "Accuracy and amortised cost",
        ["Method", "ACC (%)", "F1 (%)", "Tokens", "Time (s)"],
        [[row["method"], *cells] for row, cells in zip(rows, zip(*columns, strict=True), strict=True)],
        f"Construction, retrieval and answer generation per question, as in the paper's Table 18. {MARKS} "
        "Time is the sum of model calls. + where a server gave no token usage for some replies.",
    )


_PARTS = ("build", "retrieval", "answer", "judge", "embed")
_TITLES = ["Method", "Construction", "Retrieval", "Answer", "Judge", "Embedding"]


def token_grid(summary: Summary, methods: Sequence[str], name: str = "cost-tokens") -> Grid:
    """Where tokens go, and what Table 18 leaves out."""
    return Grid(
        name,
        "Tokens by phase",
        [*_TITLES, "Embedded texts"],
        [
            [
                method,
                *(number(row[f"{part}_tokens"]) for part in _PARTS),
                number(row["embedded_texts"], ",.1f"),
            ]
            for method, row in _in_order(summary, methods)
        ],
        "Per question; construction is shared by the questions asked. Judge and embedding are no part of "
        "Table 18. Embedding: all texts that a method had embedded, though a cache may have held them, in "
        "tokens of the answer model.",
    )


def time_grid(summary: Summary, methods: Sequence[str], name: str = "cost-seconds") -> Grid:
    """Where time goes, and how long a question waits."""
    return Grid(
        name,
        "Seconds by phase",
        [*_TITLES, "p50", "p95"],
        [
            [
                method,
                *(number(row[f"{part}_s"], ".2f") for part in _PARTS),
                number(row["p50_s"], ".2f"),
                number(row["p95_s"], ".2f"),
            ]
            for method, row in _in_order(summary, methods)
        ],
        "Model calls in s per question; embedding as waited for, so a text that an earlier method or run "
        "left in the machine's cache costs next to nothing. p50 and p95: wall clock of retrieving and "
        "answering one question, answered ones only; after a resumption, replayed calls count as they took.",
    )


def _in_order(summary: Summary, methods: Sequence[str]) -> list[tuple[str, Row]]:
    of_method = totals(summary)
    return [(method, of_method[method]) for method in methods]
