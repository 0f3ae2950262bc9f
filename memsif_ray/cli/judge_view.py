"""Every grading of a run beside the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.box import SIMPLE_HEAD
from rich.console import Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from analysis.questions import scan
from analysis.scores import TOTAL, by_profile, with_wilson
from analysis.verdicts import scan_verdicts
from memsif_ray.schemas import ANSWERS
from memsif_ray.types import Category

if TYPE_CHECKING:
    from memsif_ray.datasets.audit import Ceiling
    from memsif_ray.statistics.intervals import Interval
    from memsif_ray.storage.runs import RunFolder

_NOTHING = "–"
_CAPTION = (
    "In %, with 95 % Wilson intervals. Names: profile, +votes, +judge where it is not the run's, @audited "
    "references. Verdicts of two names are not comparable. Adv: questions to abstain from, no part of ACC."
)


def scores_by_profile(folder: RunFolder) -> list[dict[str, Any]]:
    """One row per grading, method and part (`Total`, adversarial), as plain data."""
    answers = scan(folder.tables.file("answers"), ANSWERS)
    scores = by_profile(answers, scan_verdicts(folder.path))
    return with_wilson(scores).to_dicts() if scores.height else []


def profiles_view(rows: list[dict[str, Any]]) -> Group:
    """The same for a person: one line per grading and method."""
    table = numbers_table("grading", "method", "ACC [95 %]", "F1", "Adv", "invalid", "ungraded")
    parts = {(row["profile"], row["method"], row["category"]): row for row in rows}
    for profile, method in dict.fromkeys((row["profile"], row["method"]) for row in rows):
        total = parts.get((profile, method, TOTAL), {})
        abstained = parts.get((profile, method, Category.ADVERSARIAL.value), {})
        table.add_row(
            profile,
            method,
            f"{percent(total.get('acc'))} {interval((total.get('acc_low'), total.get('acc_high')))}",
            percent(total.get("f1")),
            percent(abstained.get("acc")),
            *(str(total.get(name, 0) + abstained.get(name, 0)) for name in ("invalid", "ungraded")),
        )
    return Group(table, Padding(Text(_CAPTION, style="dim"), (0, 1)))


def ceilings_text(ceiling: Ceiling) -> Text:
    """What nobody can exceed, against either kind of reference."""
    return Text(
        f" Ceilings: released {percent(ceiling.released, digits=2)} % ({ceiling.wrong} of "
        f"{ceiling.questions} released answers are wrong by the audit), audited 100 %"
    )


def numbers_table(first: str, *others: str) -> Table:
    """An empty table with one column of names, and numbers at the right."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column(first)
    for title in others:
        table.add_column(title, justify="left" if title == "method" else "right", no_wrap=True)
    return table


def percent(value: float | None, *, digits: int = 1) -> str:
    """A share as a percentage."""
    return _NOTHING if value is None else f"{100 * value:.{digits}f}"


def interval(ends: tuple[float | None, float | None] | None) -> str:
    """Both ends as percentages."""
    if ends is None or ends[0] is None:
        return _NOTHING
    return f"[{percent(ends[0])}, {percent(ends[1])}]"


def kappa_cell(kappa: Interval) -> str:
    """Kappa and its interval, or why there is none."""
    if kappa.point is None or kappa.low is None or kappa.high is None:
        point = _NOTHING if kappa.point is None else f"{kappa.point:.2f}"
        return f"{point} ({kappa.flag.replace('_', ' ')})"
    return f"{kappa.point:.2f} [{kappa.low:.2f}, {kappa.high:.2f}]"
