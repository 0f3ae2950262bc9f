"""Pictures of a benchmark. Each takes rows and gives a figure, or None where there is nothing to draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import LogLocator, StrMethodFormatter

from analysis.figures.style import PALETTE, look, new_panels

Row = dict[str, Any]
_METRICS = {"acc": "ACC (%)", "f1": "F1 (%)"}
_OURS, _OTHERS = PALETTE[1], PALETTE[0]


class Difference(NamedTuple):
    """One line of a forest plot; shares, not percent. `ends` is None where the interval is undefined."""

    method: str
    point: float
    ends: tuple[float, float] | None


def tradeoff(rows: Sequence[Row]) -> Figure | None:
    """Accuracy and F1 against tokens per question, one marker per method.

    Args:
        rows: With method, tokens, acc and f1.
    """
    priced = [row for row in rows if row["tokens"] > 0]
    metrics = _present(priced, _METRICS)
    if not metrics:
        return None
    figure, panels = new_panels(len(metrics), width=7.2, height=max(3.2, 0.19 * len(priced) + 0.6))
    for axes, metric in zip(panels, metrics, strict=True):
        for place, row in enumerate(priced):
            if row[metric] is not None:
                axes.scatter(row["tokens"], 100 * row[metric], s=42, label=row["method"], **look(place))
        axes.set_xscale("log")
        axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axes.xaxis.set_major_formatter(StrMethodFormatter("{x:,.0f}"))
        axes.tick_params(axis="x", labelsize=7)
        axes.minorticks_off()
        axes.set_xlabel("tokens per question (log scale)", fontsize=9)
        axes.set_title(_METRICS[metric], fontsize=10, loc="left")
        axes.margins(0.12)
    _legend(figure, panels)
    return figure


def category_bars(rows: Sequence[Row], *, reference: str, metric: str = "acc") -> Figure | None:
    """One panel per category, one bar per method; accuracy has its interval as a whisker.

    Args:
        rows: With method, category, the metric and, for `acc`, acc_low and acc_high.
        reference: Method in a colour of its own.
        metric: `acc` or `f1`.
    """
    rows = [row for row in rows if row[metric] is not None]
    if not rows:
        return None
    methods = list(dict.fromkeys(row["method"] for row in rows))[::-1]
    categories = list(dict.fromkeys(row["category"] for row in rows))
    figure, panels = new_panels(len(categories), width=7.6, height=0.24 * len(methods) + 1.0)
    for axes, category in zip(panels, categories, strict=True):
        for row in (row for row in rows if row["category"] == category):
            height = methods.index(row["method"])
            color = _OURS if row["method"] == reference else _OTHERS
            axes.barh(height, 100 * row[metric], height=0.68, color=color)
            if metric == "acc":
                _whisker(axes, height, (row["acc_low"], row["acc_high"]))
        axes.set_title(category, fontsize=10, loc="left")
        axes.set_xlim(0, 100)
        axes.set_xticks([0, 50, 100], ["0", "50", "100"], fontsize=7)
        _named_lines(axes, methods)
    figure.supxlabel(_METRICS[metric], fontsize=9)
    return figure


def forest(panels_of: Mapping[str, Sequence[Difference]]) -> Figure | None:
    """Differences to the reference with their intervals, one panel per metric; zero is marked.

    Args:
        panels_of: Lines by the title of their panel. A line without an interval is a hollow point.
    """
    drawn = {title: lines for title, lines in panels_of.items() if lines}
    if not drawn:
        return None
    methods = list(dict.fromkeys(line.method for lines in drawn.values() for line in lines))[::-1]
    figure, panels = new_panels(len(drawn), width=7.2, height=0.26 * len(methods) + 1.1)
    for axes, (title, lines) in zip(panels, drawn.items(), strict=True):
        axes.axvline(0, color="black", linewidth=0.9)
        for line in lines:
            height = methods.index(line.method)
            _whisker(axes, height, line.ends)
            filled = _OTHERS if line.ends else "none"
            axes.plot(100 * line.point, height, "o", color=_OTHERS, markerfacecolor=filled, markersize=6)
        axes.set_title(title, fontsize=10, loc="left")
        axes.margins(x=0.1)
        _named_lines(axes, methods)
    figure.supxlabel("percentage points; right of zero: the reference is better", fontsize=9)
    return figure


def curves(rows: Sequence[Row], *, label: str) -> Figure | None:
    """Accuracy and F1 against a budget, one line per series.

    Args:
        rows: With series, budget, acc, f1, and acc_low and acc_high for whiskers of accuracy.
        label: What the budget is.
    """
    metrics = _present(rows, _METRICS)
    if not metrics:
        return None
    figure, panels = new_panels(len(metrics), width=7.2, height=3.4)
    ordered = sorted(rows, key=lambda row: (row["series"], row["budget"]))
    budgets = sorted({row["budget"] for row in rows})
    for axes, metric in zip(panels, metrics, strict=True):
        for place, (series, some) in enumerate(groupby(ordered, key=lambda row: row["series"])):
            known = [row for row in some if row[metric] is not None]
            if known:
                points = [(row["budget"], 100 * row[metric]) for row in known]
                (line,) = axes.plot(*zip(*points, strict=True), label=series, linewidth=1.4, **look(place))
                for row in known if metric == "acc" else []:
                    low, high = 100 * row["acc_low"], 100 * row["acc_high"]
                    axes.vlines(row["budget"], low, high, color=line.get_color(), linewidth=0.8)
        axes.set_xscale("log", base=2)
        axes.set_xticks(budgets, [f"{budget:,}" for budget in budgets])
        axes.minorticks_off()
        axes.set_xlabel(label, fontsize=9)
        axes.set_title(_METRICS[metric], fontsize=10, loc="left")
    _legend(figure, panels)
    return figure


def _present(rows: Sequence[Row], metrics: dict[str, str]) -> list[str]:
    return [metric for metric in metrics if any(row[metric] is not None for row in rows)]


def _whisker(axes: Axes, height: float, ends: tuple[float, float] | None) -> None:
    if ends:
        axes.plot([100 * end for end in ends], [height, height], color="black", linewidth=1.1)


def _named_lines(axes: Axes, methods: Sequence[str]) -> None:
    axes.set_yticks(range(len(methods)), methods, fontsize=8)
    axes.set_ylim(-0.6, len(methods) - 0.4)
    axes.grid(visible=False, axis="y")
    axes.grid(axis="x", color="#808080", alpha=0.3, linewidth=0.6)


def _legend(figure: Figure, panels: Sequence[Axes]) -> None:
    """One legend for all panels, right of them."""
    handles = {
        label: handle
        for axes in panels
        for handle, label in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(list(handles.values()), list(handles), loc="outside right upper", fontsize=8)
