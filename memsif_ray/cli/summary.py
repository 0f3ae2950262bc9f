"""The table of a run, with the numbers of questions behind it."""

from __future__ import annotations

from rich.console import Group
from rich.text import Text

from analysis.rendering import render_text
from analysis.scores import TOTAL
from analysis.tables import Summary, read_summary
from memsif_ray.storage.runs import RunFolder


def summary_of(folder: RunFolder) -> Summary:
    """The summary, with the intervals that the paper uses for this dataset (MemSIF, Appendix D)."""
    datasets = set(folder.tables.read("conversations")["dataset"].to_pylist())
    return read_summary(folder.path, stratified=datasets == {"longmemeval"})


def show_summary(summary: Summary) -> Group:
    """The tables of `analysis`, and how many questions each category has."""
    return Group(render_text(summary), Text(_counts(summary), style="dim"))


def _counts(summary: Summary) -> str:
    """Per category the questions that a method was asked at most, and those scored for every method."""
    most: dict[str, int] = {}
    scored: dict[str, int] = {}
    for row in summary.scores.to_dicts():
        category = row["category"]
        most[category] = max(most.get(category, 0), row["n"])
        scored[category] = min(scored.get(category, row["scored"]), row["scored"])
    named = [f"{name} {n} ({scored[name]} scored)" for name, n in most.items() if name != TOTAL]
    return f" Questions: {', '.join(named)}"
