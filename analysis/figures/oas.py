"""Figures of packing: accuracy by budget, gain by fit, shares, calibration, help and harm, the mechanism."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from analysis.figures.style import PALETTE, look, new_figure, new_panels
from analysis.oas.study import Accuracy
from memsif_ray.packing.actions import ACTIONS
from memsif_ray.packing.evaluation import STRATA, PolicyRow, ReliabilityRow, StratumRow
from memsif_ray.packing.mechanism import Gain, crossover
from memsif_ray.statistics.differences import Difference

_NUDGE = 0.08
"""Between series at one budget, in steps of the axis, so that whiskers do not hide each other."""
_FITS = {"none": "nothing fits", "partial": "some fits", "full": "everything fits"}


def accuracy_by_budget(rows: Sequence[Accuracy]) -> Figure:
    """One line per action (Figure 2 of the paper); whiskers are bootstrap intervals."""
    figure, axes = new_figure(6.4, 3.6)
    budgets = sorted({row.budget for row in rows})
    for place, action in enumerate(ACTIONS):
        series = [row.mean for row in rows if row.action == action]
        _line(
            axes, [budgets.index(row.budget) for row in rows if row.action == action], series, place, action
        )
    _budget_axis(axes, budgets)
    axes.set_ylabel("mean utility (%)", fontsize=9)
    axes.set_ylim(bottom=0)
    figure.legend(fontsize=8, loc="outside right upper")
    return figure


def gain_by_stratum(rows: Sequence[StratumRow]) -> Figure:
    """One panel per stratum of fit: gain of each operator over retention, with intervals."""
    strata = [stratum for stratum in STRATA if any(row.stratum == stratum for row in rows)]
    budgets = sorted({row.budget for row in rows})
    figure, panels = new_panels(len(strata), width=7.6, height=3.2)
    for axes, stratum in zip(panels, strata, strict=True):
        axes.axhline(0, color="black", linewidth=0.9)
        for place, action in enumerate(ACTIONS[1:], start=1):
            inside = [row for row in rows if row.stratum == stratum and row.action == action]
            places = [budgets.index(row.budget) for row in inside]
            _line(axes, places, [row.gain for row in inside], place, action, joined=False)
        axes.set_title(_FITS[stratum], fontsize=10, loc="left")
        _budget_axis(axes, budgets)
    panels[0].set_ylabel("gain over retain (points)", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8)
    return figure


def action_shares(rows: Sequence[PolicyRow]) -> Figure:
    """One panel per policy: what it chose at each budget."""
    rows = [row for row in rows if row.budget is not None]
    policies = list(dict.fromkeys(row.policy for row in rows))
    budgets = list(dict.fromkeys(row.budget for row in rows))
    figure, panels = new_panels(len(policies), width=7.6, height=3.0)
    for axes, policy in zip(panels, policies, strict=True):
        shares = np.array([row.shares for row in rows if row.policy == policy])
        bottom = np.zeros(len(budgets))
        for place, action in enumerate(ACTIONS):
            height = 100 * shares[:, place]
            bars = axes.bar(range(len(budgets)), height, 0.7, bottom, color=PALETTE[place], label=action)
            for bar in bars:
                bar.set_hatch(_HATCHES[place])
            bottom += height
        axes.set_title(policy, fontsize=10, loc="left")
        _budget_axis(axes, budgets)
        axes.set_ylim(0, 100)
    panels[0].set_ylabel("instances (%)", fontsize=9)
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles[::-1], labels[::-1], loc="outside right upper", fontsize=8)
    return figure


_HATCHES = ("", "//", "..", "xx")


def calibration(rows: Sequence[ReliabilityRow]) -> Figure:
    """Predicted against realised utility, in fifths of the predictions; on the diagonal they agree."""
    figure, axes = new_figure(6.4, 3.6)
    axes.plot([0, 100], [0, 100], color="black", linewidth=0.9, linestyle=":")
    for place, action in enumerate(ACTIONS):
        points = [(100 * row.predicted, 100 * row.realised) for row in rows if row.action == action]
        axes.plot(*zip(*points, strict=True), label=action, linewidth=1.2, **look(place))
    # A line fitted to few questions may leave [0, 1] far behind; what was realised never does.
    predicted = [100 * row.predicted for row in rows]
    axes.set_xlim(min(0.0, *predicted) - 3, max(100.0, *predicted) + 3)
    axes.set_ylim(-3, 103)
    axes.set_xlabel("predicted utility (%)", fontsize=9)
    axes.set_ylabel("realised utility (%)", fontsize=9)
    figure.legend(fontsize=8, loc="outside right upper")
    return figure


def help_and_harm(rows: Sequence[PolicyRow]) -> Figure:
    """One panel per policy: instances better than retention above the line, worse ones below it."""
    rows = [row for row in rows if row.budget is not None]
    policies = list(dict.fromkeys(row.policy for row in rows))
    budgets = list(dict.fromkeys(row.budget for row in rows))
    figure, panels = new_panels(len(policies), width=7.6, height=3.0)
    for axes, policy in zip(panels, policies, strict=True):
        mine = [row for row in rows if row.policy == policy]
        places = range(len(budgets))
        axes.bar(places, [100 * row.help for row in mine], 0.7, color=PALETTE[2], label="help")
        harm = axes.bar(places, [-100 * row.harm for row in mine], 0.7, color=PALETTE[1], label="harm")
        for bar in harm:
            bar.set_hatch("//")
        axes.axhline(0, color="black", linewidth=0.9)
        axes.set_title(policy, fontsize=10, loc="left")
        _budget_axis(axes, budgets)
    panels[0].set_ylabel("instances (%)", fontsize=9)
    panels[0].yaxis.set_major_formatter(lambda value, _: f"{abs(value):.0f}")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", fontsize=8)
    return figure


def mechanism(budgets: Sequence[int], gains: Sequence[Gain]) -> Figure:
    """Proposition 1: coverage and replacement effect, their sum, and where it crosses zero."""
    figure, axes = new_figure(6.4, 3.6)
    axes.axhline(0, color="black", linewidth=0.9)
    for place, name in enumerate(("total", "coverage", "replacement")):
        values = [100 * getattr(gain, name) for gain in gains]
        width = 2.0 if name == "total" else 1.2
        style = "-" if name == "total" else ("--", ":")[place - 1]
        axes.plot(budgets, values, label=name, color=PALETTE[place], linewidth=width, linestyle=style)
    at = crossover(budgets, gains)
    if at is not None:
        axes.axvline(at, color=PALETTE[6], linewidth=0.9, linestyle="--")
        axes.annotate(f"{at:.0f} tokens", (at, 0), (4, 6), textcoords="offset points", fontsize=8)
    axes.set_xscale("log", base=2)
    ticks = [2**power for power in range(3, 12) if budgets[0] <= 2**power <= budgets[-1]]
    axes.set_xticks(ticks, [str(tick) for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("token budget (log scale)", fontsize=9)
    axes.set_ylabel("gain of the record (points)", fontsize=9)
    axes.legend(fontsize=8, loc="upper right")
    return figure


def _line(
    axes: Axes,
    places: Sequence[int],
    series: Sequence[Difference],
    place: int,
    label: str,
    *,
    joined: bool = True,
) -> None:
    """Points with whiskers, each series a little to the side; a hollow point has no interval."""
    shift = (place - 1.5) * _NUDGE
    known = [(x + shift, one) for x, one in zip(places, series, strict=True) if one.mean is not None]
    for x, one in known:
        if not one.flag:
            axes.plot(
                [x, x], [100 * (one.low or 0), 100 * (one.high or 0)], color=PALETTE[place], linewidth=1.0
            )
    points = [(x, 100 * (one.mean or 0)) for x, one in known]
    hollow = [bool(one.flag) for _, one in known]
    axes.plot(*zip(*points, strict=True), color=PALETTE[place], linewidth=1.4 if joined else 0)
    for fill, wanted in ((PALETTE[place], False), ("none", True)):
        some = [point for point, flagged in zip(points, hollow, strict=True) if flagged is wanted]
        axes.plot(*zip(*some, strict=True), linestyle="", markerfacecolor=fill, **look(place))
    axes.plot([], [], label=label, linestyle="-" if joined else "", **look(place))


def _budget_axis(axes: Axes, budgets: Sequence[int | None]) -> None:
    axes.set_xticks(range(len(budgets)), [str(budget) for budget in budgets])
    axes.set_xlim(-0.5, len(budgets) - 0.5)
    axes.set_xlabel("token budget", fontsize=9)
