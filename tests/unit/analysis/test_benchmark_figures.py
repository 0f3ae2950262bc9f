from __future__ import annotations

import pytest

from analysis.figures import benchmark
from analysis.figures.style import MARKERS, PALETTE, as_svg, look

ROW = {"method": "memsif", "category": "S-hop", "acc": 0.5, "acc_low": 0.4, "acc_high": 0.6, "f1": 0.25}
NO_SCORE = dict.fromkeys(("acc", "acc_low", "acc_high", "f1"))


@pytest.mark.parametrize(
    "figure",
    [
        benchmark.tradeoff([]),
        benchmark.tradeoff([ROW | {"tokens": 0.0}]),  # nothing spent has no place on a log scale
        benchmark.tradeoff([ROW | NO_SCORE | {"tokens": 10.0}]),
        benchmark.category_bars([ROW | NO_SCORE], reference="memsif"),
        benchmark.forest({"Δ ACC": []}),
        benchmark.curves([], label="budget"),
    ],
)
def test_where_there_is_nothing_to_draw_there_is_no_figure(figure):
    assert figure is None


def test_a_metric_without_values_has_no_panel():
    ungraded = ROW | {"acc": None, "tokens": 100.0}
    assert [axes.get_title("left") for axes in benchmark.tradeoff([ungraded]).axes] == ["F1 (%)"]
    assert len(benchmark.tradeoff([ROW | {"tokens": 100.0}]).axes) == 2


def test_bars_reach_the_value_and_whiskers_its_interval():
    (axes,) = benchmark.category_bars([ROW], reference="memsif").axes
    assert [bar.get_width() for bar in axes.patches] == [50.0]
    assert [list(line.get_xdata()) for line in axes.lines] == [[40.0, 60.0]]


def test_a_difference_without_an_interval_is_a_hollow_point():
    lines = [benchmark.Difference("a", 0.1, (0.05, 0.15)), benchmark.Difference("b", 0.2, None)]
    (axes,) = benchmark.forest({"Δ ACC": lines}).axes
    points = [line for line in axes.lines if line.get_marker() == "o"]
    assert [point.get_markerfacecolor() == "none" for point in points] == [False, True]


def test_a_curve_runs_from_the_smallest_budget_to_the_largest():
    rows = [ROW | {"series": "memsif", "budget": budget} for budget in (1024, 256, 512)]
    axes = benchmark.curves(rows, label="budget").axes[0]
    assert [list(line.get_xdata()) for line in axes.lines] == [[256, 512, 1024]]
    assert ">1,024<" in as_svg(axes.figure, "Curve")


def test_points_of_accuracy_on_a_curve_have_whiskers_those_of_f1_none():
    known = ROW | {"series": "memsif", "budget": 256}
    accuracy, f1 = benchmark.curves([known, known | NO_SCORE | {"budget": 512}], label="budget").axes
    (whisker,) = accuracy.collections
    assert whisker.get_segments()[0].tolist() == [[256, 40.0], [256, 60.0]]
    assert not f1.collections


def test_many_series_differ_in_colour_or_marker():
    assert len({tuple(look(place).values()) for place in range(len(PALETTE) * len(MARKERS))}) == 72


@pytest.mark.parametrize("color", PALETTE)
@pytest.mark.parametrize("page", [1.0, 0.0086])  # luminance of white, and of the dark page's #14171c
def test_every_colour_stands_out_on_a_light_and_on_a_dark_page(color, page):
    def linear(value):
        return value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4

    red, green, blue = (linear(int(color[n : n + 2], 16) / 255) for n in (1, 3, 5))
    own = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    assert (max(own, page) + 0.05) / (min(own, page) + 0.05) >= 3  # WCAG 2.2, 1.4.11
