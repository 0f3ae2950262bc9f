"""Cells of the diagnoses' tables."""

from __future__ import annotations

from memsif_ray.diagnostics.measured import Measured

NONE = "–"


def share(count: int, whole: int) -> str:
    """A count, and what percentage of the whole it is."""
    return f"{count:,} ({100 * count / max(whole, 1):.1f}%)"


def percent(value: float | None) -> str:
    """A share as a percentage, or a dash."""
    return NONE if value is None else f"{100 * value:.2f}%"


def number(value: float | None, form: str) -> str:
    """A number, or a dash."""
    return NONE if value is None else f"{value:{form}}"


def measured(found: Measured, form: str = "%") -> str:
    """A share as a percentage (or a number in another form), or the reason why there is none."""
    if found.value is None:
        return found.reason.replace("_", " ")
    return percent(found.value) if form == "%" else f"{found.value:{form}}"


def interval(ends: tuple[float, float] | None) -> str:
    """Ends of a confidence interval of a share, in percent."""
    return NONE if ends is None else f"{100 * ends[0]:.1f}–{100 * ends[1]:.1f}%"
