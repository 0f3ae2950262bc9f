"""Figures of the diagnostics: dispersion, volatility, distance of neighbours, and losses by compaction."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from analysis.figures.style import MARKERS, PALETTE, as_svg, new_figure, new_panels
from memsif_ray.diagnostics.dispersion import NCE_TED
from memsif_ray.diagnostics.loss import LossPoint, Mode, question_correlation
from memsif_ray.diagnostics.tsm import Measure, TsmAverage, TsmMeasure

_BINS = 20
_POINT_AREA, _LARGEST_AREA = 24.0, 1600.0
"""Of a circle for one point, and for all in the fullest place: a circle grows with what it stands for."""


def ted_histogram(teds: Sequence[float], title: str) -> str:
    """Questions by TED, those of the NCE subset in another colour.

    Args:
        teds: Of the questions that have one.
        title: What a screen reader says.
    """
    figure, axes = new_figure()
    subset = [ted for ted in teds if ted >= NCE_TED]
    others = [ted for ted in teds if ted < NCE_TED]
    axes.hist(
        [others, subset],
        bins=list(np.linspace(0, 1, _BINS + 1)),
        stacked=True,
        rwidth=0.9,
        color=[PALETTE[0], PALETTE[1]],
        label=[f"TED < {NCE_TED}: {len(others)}", f"NCE, TED ≥ {NCE_TED}: {len(subset)}"],
    )
    axes.axvline(NCE_TED, color="black", linestyle="--", linewidth=1)
    axes.set_xlim(0, 1)
    axes.set_xlabel("temporal evidence dispersion (TED)")
    axes.set_ylabel("questions")
    _legend(axes)
    return as_svg(figure, title)


def asv_figure(measures: Sequence[TsmMeasure], averages: Sequence[TsmAverage], title: str) -> str:
    """Volatility by segment length: each conversation, and their mean (Figure 6).

    Args:
        measures: Of the conversations.
        averages: Over them.
        title: What a screen reader says.
    """
    figure, axes = new_figure()
    mean = {one.segment_length: one.value for one in averages if one.measure is Measure.ASV}
    places = _ticks(axes, list(mean))
    single = [(places[one.segment_length], one.value) for one in measures if one.measure is Measure.ASV]
    _percents(axes, single, color=PALETTE[6], marker=".", linestyle="", label="one conversation")
    joined = [(places[length], value) for length, value in mean.items()]
    _percents(axes, joined, color=PALETTE[0], marker=MARKERS[0], label="mean")
    axes.set_xlabel("messages per segment")
    axes.set_ylabel("ASV (%)")
    _legend(axes)
    return as_svg(figure, title)


def sntd_figure(averages: Sequence[TsmAverage], paper: Mapping[int, float], title: str) -> str:
    """Distance in time of the k nearest by k, with the random baseline (Figure 7).

    Args:
        averages: Of all measures.
        paper: The paper's values by k, to show beside ours; may be empty.
        title: What a screen reader says.
    """
    figure, axes = new_figure()
    ours = {one.k: one.value for one in averages if one.measure is Measure.SNTD and one.k}
    drawn = {one.k: one.value for one in averages if one.measure is Measure.DRAWN and one.k}
    places = _ticks(axes, [k for k in ours if k])
    series: tuple[tuple[str, Mapping[Any, float | None], dict[str, Any]], ...] = (
        ("random neighbours", drawn, {"color": PALETTE[1], "marker": MARKERS[1], "linestyle": "--"}),
        ("SNTD@k", ours, {"color": PALETTE[0], "marker": MARKERS[0]}),
        (
            "SNTD@k in the paper, another embedder",
            paper,
            {"color": PALETTE[2], "marker": MARKERS[3], "linestyle": "", "fillstyle": "none"},
        ),
    )
    for label, values, look in series:
        if values:
            _percents(axes, [(places[k], value) for k, value in values.items()], label=label, **look)
    axes.set_xlabel("neighbours per segment k")
    axes.set_ylabel("distance in time (%)")
    _legend(axes, loc="lower right")
    return as_svg(figure, title)


def loss_figure(points: Sequence[LossPoint], title: str) -> str:
    """Loss of details against drop of answers, one point per question and memory (Figure 8).

    Most questions have few facts, so that many points fall on one place, where their number is written.

    Args:
        points: Of both modes; those with a missing number are left out.
        title: What a screen reader says.
    """
    figure, panels = new_panels(len(Mode), width=7.2)
    for axes, mode in zip(panels, Mode, strict=True):
        places = Counter((p.cdl, p.qad) for p in points if p.mode is mode and None not in (p.cdl, p.qad))
        known = [(x, y, n) for (x, y), n in places.items() if x is not None and y is not None]
        area = min(_POINT_AREA, _LARGEST_AREA / max(places.values(), default=1))
        for x, y, n in known:
            axes.scatter(x, y, s=area * n, color=PALETTE[0], alpha=0.6)
            axes.annotate(str(n), (x, y), fontsize=7, ha="center", va="center")
        found = question_correlation(points, mode)
        r = found.r.reason.replace("_", " ") if found.r.value is None else f"{found.r.value:.2f}"
        axes.set_title(f"{mode.value}: r = {r}, n = {found.points}", fontsize=10, loc="left")
        axes.set_xlim(-0.15, 1.15)
        axes.set_ylim(-1.2, 1.2)
        axes.set_xlabel("CDL of a question")
    panels[0].set_ylabel("QAD of a question")
    return as_svg(figure, title)


def _ticks(axes: Axes, numbers: Sequence[int]) -> dict[int, int]:
    """Numbers that double, at equal steps; returns the place of each."""
    axes.set_xticks(range(len(numbers)), [str(number) for number in numbers])
    return {number: place for place, number in enumerate(numbers)}


def _legend(axes: Axes, **where: Any) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=9, **where)


def _percents(axes: Axes, points: Sequence[tuple[int, float | None]], **look: Any) -> None:
    known = [(place, 100 * value) for place, value in points if value is not None]
    axes.plot([place for place, _ in known], [value for _, value in known], **look)
    top = axes.dataLim.ymax  # of all series so far; not finite while there is no point
    axes.set_ylim(0, 1.1 * top if np.isfinite(top) and top > 0 else 1)
