"""A summary for people: one line per method, for a terminal or as Markdown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analysis.questions import CATEGORIES
from analysis.scores import TOTAL
from analysis.tables import Summary
from memsif_ray.types import Category

Scores = dict[tuple[str, str], dict[str, Any]]
"""Row of a summary by method and category."""
_NOTHING = "–"
_CAPTION = (
    "In %: categories, ACC, F1, recall, Adv. Adversarial questions count in Adv only: the right reply is to "
    "abstain. Gain: ACC of the first method minus this one, 95 % paired bootstrap. tok/q and s/q: "
    "construction, retrieval and answer over the questions asked, without judge and embedding; + where a "
    "server gave no token usage for some replies."
)
_SHORT = {"failures": "failed"}
"""Titles of columns that differ from their names."""
Grid = list[list[str]]
"""Cells by row; the first row is the header, the first column names the method."""


def render_text(summary: Summary) -> Group:
    """Two tables for `rich.print`, each narrow enough for a terminal of 80 columns."""
    return Group(*map(_table, _grids(summary)), Padding(Text(_CAPTION, style="dim"), (0, 1)))


def _table(grid: Grid) -> Table:
    header, *rows = grid
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    for n, title in enumerate(header):
        table.add_column(title, justify="left" if n == 0 else "right", no_wrap=True)
    for row in rows:
        table.add_row(*row)
    return table


def to_markdown(summary: Summary) -> str:
    """The same two tables with pipes, and the caption below."""
    return "\n\n".join([*map(_pipes, _grids(summary)), _CAPTION]) + "\n"


def _pipes(grid: Grid) -> str:
    header, *rows = grid
    rule = ["---", *["---:"] * (len(header) - 1)]
    lines = (" | ".join(cell.replace("|", r"\|") for cell in row) for row in (header, rule, *rows))
    return "\n".join(f"| {line} |" for line in lines)


def _grids(summary: Summary) -> tuple[Grid, Grid]:
    scores = {(row["method"], row["category"]): row for row in summary.scores.to_dicts()}
    costs = {row["method"]: row for row in summary.costs.to_dicts()}
    gains = {row["method"]: row for row in summary.gains.to_dicts()}
    # The reference has no gain over itself; it comes first.
    methods = sorted(costs, key=lambda method: (method in gains, method))
    asked = {category for _, category in scores}
    shown = [c for c in CATEGORIES if c in asked and c != Category.ADVERSARIAL]
    accuracy = [["method", *shown, "ACC", "gain [95 %]"]]
    counts = ["invalid", "failures"]
    if any(row["ungraded"] for row in scores.values()):
        counts.insert(1, "ungraded")  # why there is no ACC
    beside = [["method", "F1", "recall", "Adv", *(_SHORT.get(c, c) for c in counts), "tok/q", "s/q"]]
    for method in methods:
        accuracy.append(
            [method, *[_percent(scores, method, c, "acc") for c in (*shown, TOTAL)], _gain(gains.get(method))]
        )
        beside.append([method, *_beside(scores, method, counts), *_cost(costs[method])])
    return accuracy, beside


def _percent(scores: Scores, method: str, category: str, column: str) -> str:
    value = scores.get((method, category), {}).get(column)
    return _NOTHING if value is None else f"{100 * value:.1f}"


def _beside(scores: Scores, method: str, counts: Sequence[str]) -> list[str]:
    asked = [scores[method, part] for part in (TOTAL, Category.ADVERSARIAL) if (method, part) in scores]
    return [
        _percent(scores, method, TOTAL, "f1"),
        _percent(scores, method, TOTAL, "evidence_recall"),
        _percent(scores, method, Category.ADVERSARIAL, "acc"),
        *(str(sum(row[count] for row in asked)) for count in counts),
    ]


def _cost(cost: dict[str, Any]) -> list[str]:
    return [f"{cost['tokens']:,.0f}{'+' if cost['unmetered'] else ''}", f"{cost['model_s']:.2f}"]


def _gain(gain: dict[str, Any] | None) -> str:
    if gain is None or gain["point"] is None:
        return _NOTHING
    point = f"{100 * gain['point']:+.1f}"
    if gain["flag"]:
        return f"{point} ({gain['flag'].replace('_', ' ')})"
    return f"{point} [{100 * gain['low']:+.1f}, {100 * gain['high']:+.1f}]"
