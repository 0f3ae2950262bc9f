"""Tables of a report that set variants side by side: of a method, its settings, its runs, its judges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from analysis.page import Grid
from analysis.report.grids import MARKS, NOTHING, Row, gain, marked, metered, percent, totals
from analysis.scores import TOTAL
from analysis.tables import Summary
from memsif_ray.types import Category


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
        f"{methods[0]} without its parts",
        ["Method", "ACC", "Loss in ACC [95 %]", "F1", "Loss in F1 [95 %]", "Recall", "Tokens"],
        [
            [
                method,
                percent(rows[method]["acc"]),
                gain(acc[method]) if method in acc else NOTHING,
                percent(rows[method]["f1"]),
                gain(of_f1[method]) if method in of_f1 else NOTHING,
                percent(rows[method]["evidence_recall"]),
                metered(rows[method]),
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
                metered(row),
            ]
            for place, (settings, row) in enumerate(runs)
        ],
        f"In %, one line per run; a setting of None is the preset of the embedder. {MARKS}",
    )


def spread_grid(spread: pl.DataFrame, methods: Sequence[str], name: str = "spread") -> Grid:
    """How much the runs of each method differ."""
    rows = _by_method(spread)
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
            for row in (rows[method] for method in methods if method in rows)
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
