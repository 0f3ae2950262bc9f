"""Further tables of a report: costs, ablations, settings, spread between runs, judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from analysis.grids import MARKS, NOTHING, gain, marked, number, percent
from analysis.page import Grid
from analysis.scores import TOTAL
from analysis.tables import Summary
from memsif_ray.types import Category

Row = dict[str, Any]


def totals(summary: Summary) -> dict[str, Row]:
    """Per method its total scores and its costs as one row; scores are null when nothing counts to ACC."""
    scores = {row["method"]: row for row in summary.scores.filter(category=TOTAL).to_dicts()}
    empty: Row = dict.fromkeys(summary.scores.columns)
    return {
        row["method"]: {**empty, **scores.get(row["method"], {}), **row} for row in summary.costs.to_dicts()
    }


def cost_grid(summary: Summary, methods: Sequence[str], name: str = "costs") -> Grid:
    """The paper's Table 18."""
    rows = [row for _, row in _in_order(summary, methods)]
    columns = [
        marked([row["acc"] for row in rows], [percent(row["acc"]) for row in rows]),
        marked([row["f1"] for row in rows], [percent(row["f1"]) for row in rows]),
        marked([row["tokens"] for row in rows], [_metered(row) for row in rows], smallest=True),
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


def _metered(row: Row) -> str:
    return f"{row['tokens']:,.0f}{'+' if row['unmetered'] else ''}"


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
        "Table 18. An embedder in process counts texts, not tokens.",
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
        "Model calls in s per question. p50 and p95: wall clock of retrieving and answering one question, "
        "answered ones only.",
    )


def _in_order(summary: Summary, methods: Sequence[str]) -> list[tuple[str, Row]]:
    of_method = totals(summary)
    return [(method, of_method[method]) for method in methods]


def ablation_grid(
    summary: Summary, f1: pl.DataFrame, methods: Sequence[str], name: str = "ablations"
) -> Grid:
    """A system without one of its parts against the whole system.

    Args:
        summary: Of all methods.
        f1: Differences in F1.
        methods: The whole system, then its variants.
        name: Of the files.
    """
    rows, acc, of_f1 = totals(summary), _by_method(summary.gains), _by_method(f1)
    return Grid(
        name,
        "Ablations",
        ["Method", "ACC", "Loss in ACC [95 %]", "F1", "Loss in F1 [95 %]", "Recall", "Tokens"],
        [
            [
                method,
                percent(rows[method]["acc"]),
                gain(acc[method]) if method in acc else NOTHING,
                percent(rows[method]["f1"]),
                gain(of_f1[method]) if method in of_f1 else NOTHING,
                percent(rows[method]["evidence_recall"]),
                _metered(rows[method]),
            ]
            for method in methods
        ],
        f"In %; losses are {methods[0]} minus the variant, in percentage points, with the paired bootstrap.",
    )


def _by_method(table: pl.DataFrame) -> dict[str, Row]:
    return {row["method"]: row for row in table.to_dicts()}


def settings_grid(method: str, runs: Sequence[tuple[Mapping[str, Any], Row]], name: str) -> Grid:
    """One method in runs of different settings.

    Args:
        method: Its name in the runs.
        runs: Per run its settings that differ, and the method's total scores and costs.
        name: Of the files.
    """
    keys = list(runs[0][0])
    acc = marked([row["acc"] for _, row in runs], [percent(row["acc"]) for _, row in runs])
    f1 = marked([row["f1"] for _, row in runs], [percent(row["f1"]) for _, row in runs])
    return Grid(
        name,
        f"Sensitivity of {method}",
        ["Run", *keys, "ACC", "F1", "Recall", "Tokens"],
        [
            [
                row["method"],
                *(str(settings[key]) for key in keys),
                acc[place],
                f1[place],
                percent(row["evidence_recall"]),
                _metered(row),
            ]
            for place, (settings, row) in enumerate(runs)
        ],
        f"In %, one line per run; a setting of None is the preset of the embedder. {MARKS}",
    )


def spread_grid(spread: pl.DataFrame, name: str = "spread") -> Grid:
    """How much the runs of each method differ."""
    return Grid(
        name,
        "Spread between runs",
        ["Method", "Runs", "Orders", "ACC", "sd", "Lowest", "Highest", "F1", "F1 sd"],
        [
            [
                row["method"],
                str(row["runs"]),
                str(row["orders"]),
                *(percent(row[column]) for column in ("mean", "sd", "low", "high", "f1_mean", "f1_sd")),
            ]
            for row in spread.to_dicts()
        ],
        "In %. Orders: different orders of the questions among the runs. With more than one, the spread is "
        "what order and sampling do together; with one, it is sampling alone.",
    )


def profile_grid(profiles: pl.DataFrame, methods: Sequence[str], name: str = "judges") -> Grid:
    """ACC of every method under every judge profile; adversarial questions in columns of their own."""
    cells = {(row["profile"], row["method"], row["category"]): row for row in profiles.to_dicts()}
    known = sorted(set(profiles["profile"]))
    parts = [(profile, category) for category in (TOTAL, Category.ADVERSARIAL) for profile in known]
    shown = [part for part in parts if any((part[0], method, part[1]) in cells for method in methods)]
    columns = []
    for profile, category in shown:
        values = [cells.get((profile, method, category), {}).get("acc") for method in methods]
        columns.append(marked(values, [percent(value) for value in values]))
    return Grid(
        name,
        "Accuracy by judge profile",
        ["Method", *(f"{p}{', Adv.' if c == Category.ADVERSARIAL else ''}" for p, c in shown)],
        [[method, *(column[place] for column in columns)] for place, method in enumerate(methods)],
        f"In %. The same answers under each profile; @audited: against corrected gold answers. {MARKS}",
    )
