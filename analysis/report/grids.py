"""Tables of a report: what a summary holds, as cells for people."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from analysis.page import Grid, Mark, Marked
from analysis.questions import CATEGORIES
from analysis.scores import TOTAL
from analysis.tables import Summary
from memsif_ray.types import Category

Row = dict[str, Any]
NOTHING = "–"
ALPHA = 0.05
MARKS = "Best in bold, second best underlined."
_ADVERSARIAL = Category.ADVERSARIAL.value
_REASONS = {
    "empty": "no question was scored for both",
    "one_cluster": "one conversation only: nothing to resample",
    "one_question": "one question only: nothing to resample",
    "degenerate": "every resample gave the same value",
}


def percent(value: float | None) -> str:
    """A share as a percentage with one decimal."""
    return NOTHING if value is None else f"{100 * value:.1f}"


def number(value: float | None, form: str = ",.0f") -> str:
    """A number, or a dash where there is none."""
    return NOTHING if value is None else format(value, form)


def marked(values: Sequence[float | None], texts: Sequence[str], *, smallest: bool = False) -> list[Marked]:
    """Cells of one column, its best and second best value marked; equal values share a mark.

    Values count as equal when they are so to three digits after the point, as they are shown. A column of
    one value only has no best.
    """
    known = sorted({round(value, 3) for value in values if value is not None}, reverse=not smallest)
    ranks: dict[float, Mark] = dict(zip(known, ("best", "second"), strict=False)) if known[1:] else {}
    return [
        Marked(text, "" if value is None else ranks.get(round(value, 3), ""))
        for value, text in zip(values, texts, strict=True)
    ]


def totals(summary: Summary) -> dict[str, Row]:
    """Per method its total scores and its costs as one row; scores are null when nothing counts to ACC."""
    scores = {row["method"]: row for row in summary.scores.filter(category=TOTAL).to_dicts()}
    empty: Row = dict.fromkeys(summary.scores.columns)
    return {
        row["method"]: {**empty, **scores.get(row["method"], {}), **row} for row in summary.costs.to_dicts()
    }


def metered(row: Row) -> str:
    """Tokens per question, with a plus where a server did not count some of them."""
    return f"{row['tokens']:,.0f}{'+' if row['unmetered'] else ''}"


def asked_categories(scores: pl.DataFrame) -> list[str]:
    """Categories with a question, but for the adversarial one."""
    asked = set(scores["category"])
    return [category for category in CATEGORIES if category in asked and category != _ADVERSARIAL]


def all_categories(scores: pl.DataFrame) -> list[str]:
    """Those, their total, and the adversarial one last, since it is part of no total."""
    asked = set(scores["category"])
    return [c for c in (*asked_categories(scores), TOTAL, _ADVERSARIAL) if c in asked]


def main_grid(
    summary: Summary, methods: Sequence[str], name: str = "main", *, fallbacks: Mapping[str, int]
) -> Grid:
    """Accuracy by category with F1 and evidence recall beside it, and adversarial questions apart.

    Args:
        summary: Of all methods.
        methods: Their names in the order of the rows; the first is what the others are compared with.
        name: Of the files.
        fallbacks: Per method its decisions without a usable reply.
    """
    cells = _Cells(summary.scores)
    significant = dagger_marks(summary)
    adversarial = _ADVERSARIAL in set(summary.scores["category"])
    columns = [cells.column(methods, category, "acc") for category in asked_categories(summary.scores)]
    total = cells.values(methods, TOTAL, "acc")
    texts = [percent(v) + significant.get(m, "") for m, v in zip(methods, total, strict=True)]
    columns += [marked(total, texts), *(cells.column(methods, TOTAL, c) for c in ("f1", "evidence_recall"))]
    if adversarial:
        columns += [cells.column(methods, _ADVERSARIAL, column) for column in ("acc", "f1")]
    header = ["Method", *asked_categories(summary.scores), "ACC", "F1", "Recall"]
    return Grid(
        name,
        "Main results",
        [*header, *(["Adv. ACC", "Adv. F1"] if adversarial else []), "Failed", "Unscored", "Fallbacks"],
        _rows(
            methods,
            [*columns, *_missing(summary.scores, methods), [f"{fallbacks.get(m, 0):,}" for m in methods]],
        ),
        f"In %. {MARKS} ACC: judged right, mean of runs per question, without adversarial questions, which "
        "stand apart (Adv.: right is to abstain). Recall: share of gold evidence in the context. † the 95 % "
        f"interval of the difference to {methods[0]} excludes zero; ‡ and McNemar's exact p is below 0.05 "
        "after Holm's correction. Failed answers count as wrong; unscored ones (invalid or no verdict) "
        "count neither way, and there is no ACC while most answers of a run wait for the judge. "
        "Fallbacks: what memory decided without a usable reply of the model; nothing fails over it.",
    )


def dagger_marks(summary: Summary) -> dict[str, str]:
    """Per method † or ‡ when it differs from the reference significantly."""
    found = {}
    for row in summary.gains.to_dicts():
        if not row["flag"] and row["low"] * row["high"] > 0:
            found[row["method"]] = "‡" if row["p_holm"] is not None and row["p_holm"] < ALPHA else "†"
    return found


class _Cells:
    """Values of a scores table by method, category and column."""

    def __init__(self, scores: pl.DataFrame) -> None:
        self._rows = {(row["method"], row["category"]): row for row in scores.to_dicts()}

    def row(self, method: str, category: str) -> Row:
        return self._rows.get((method, category), {})

    def values(self, methods: Iterable[str], category: str, column: str) -> list[float | None]:
        return [self.row(method, category).get(column) for method in methods]

    def column(self, methods: Sequence[str], category: str, column: str) -> list[Marked]:
        values = self.values(methods, category, column)
        return marked(values, [percent(value) for value in values])


def _missing(scores: pl.DataFrame, methods: Sequence[str]) -> list[list[str]]:
    parts = scores.filter(pl.col("category") != TOTAL).group_by("method")
    sums = parts.agg(pl.col("failures", "invalid", "ungraded").sum())
    by_method = {row["method"]: row for row in sums.to_dicts()}
    return [
        [str(by_method[method]["failures"]) for method in methods],
        [str(by_method[method]["invalid"] + by_method[method]["ungraded"]) for method in methods],
    ]


def _rows(methods: Sequence[str], columns: Sequence[Sequence[str | Marked]]) -> list[list[str | Marked]]:
    return [[method, *(column[place] for column in columns)] for place, method in enumerate(methods)]


def interval_grid(summary: Summary, methods: Sequence[str], name: str = "intervals") -> Grid:
    """Accuracy per cell with its Wilson interval."""
    cells, shown = _Cells(summary.scores), all_categories(summary.scores)
    largest = dict(summary.scores.group_by("category").agg(pl.col("n").max()).iter_rows())
    return Grid(
        name,
        "Accuracy with its interval",
        ["Method", *(f"{category} (n = {largest[category]})" for category in shown)],
        [[method, *(_with_interval(cells.row(method, c)) for c in shown)] for method in methods],
        "In %, with the Wilson interval (95 %) of each cell; a question is one trial however many runs were "
        "averaged. n: questions asked. Fewer scored than asked are named in the cell.",
    )


def _with_interval(row: Row) -> str:
    if not row or row["acc"] is None:
        return NOTHING
    fewer = f" of {row['scored']}" if row["scored"] < row["n"] else ""
    return f"{percent(row['acc'])} [{percent(row['acc_low'])}, {percent(row['acc_high'])}]{fewer}"


def category_grid(summary: Summary, methods: Sequence[str], column: str, name: str, title: str) -> Grid:
    """Another score by category, one that needs no judge, such as `f1`."""
    cells, shown = _Cells(summary.scores), all_categories(summary.scores)
    columns = [cells.column(methods, category, column) for category in shown]
    return Grid(name, title, ["Method", *shown], _rows(methods, columns), f"In %, no judge needed. {MARKS}")


def difference_grid(
    gains: pl.DataFrame, f1: pl.DataFrame, methods: Sequence[str], name: str = "differences"
) -> Grid:
    """The first method minus each other, in ACC and F1, with both tests.

    Args:
        gains: Differences in ACC.
        f1: Differences in F1.
        methods: In the order of the rows.
        name: Of the files.
    """
    acc, of_f1 = ({row["method"]: row for row in table.to_dicts()} for table in (gains, f1))
    rows = [_difference(acc[method], of_f1[method]) for method in methods if method in acc]
    header = ["Method", "n", "Δ ACC [95 %]", "Only ours", "Only theirs", "p", "p (Holm)", "Δ F1 [95 %]"]
    if any(row[-1] for row in rows):
        header.append("Without interval because")
    return Grid(
        name,
        f"{methods[0]} against the others",
        header,
        [row[: len(header)] for row in rows],
        f"{methods[0]} minus the method, in percentage points, over the n questions scored for both, with "
        "the paired bootstrap's interval. Only ours, only theirs: questions that one of the two alone "
        "answers rightly; p is McNemar's exact one, which takes questions for independent.",
    )


def _difference(acc: Row, f1: Row) -> list[str]:
    return [
        acc["method"],
        str(acc["n"]),
        gain(acc),
        str(acc["only_ours"]),
        str(acc["only_theirs"]),
        _probability(acc["p"]),
        _probability(acc["p_holm"]),
        gain(f1),
        _REASONS.get(acc["flag"] or f1["flag"], ""),
    ]


def _probability(p: float | None) -> str:
    return "<0.001" if p is not None and p < 0.001 else number(p, ".3f")


def gain(row: Row) -> str:
    """A difference in percentage points with its interval; no interval where that is undefined."""
    if row["point"] is None:
        return NOTHING
    point = f"{100 * row['point']:+.1f}"
    return point if row["flag"] else f"{point} [{100 * row['low']:+.1f}, {100 * row['high']:+.1f}]"
