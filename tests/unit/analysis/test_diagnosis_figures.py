"""Figures and tables of diagnoses say what was measured, also when hardly anything was."""

from xml.etree import ElementTree

from analysis.diagnosis.model_free import comparable, tsm_grids
from analysis.figures.diagnostics import asv_figure, sntd_figure, ted_histogram
from memsif_ray.datasets import LoadReport
from memsif_ray.diagnostics.tsm import Measure, TsmAverage, TsmMeasure, average

EMPTY = TsmMeasure("c0", Measure.SNTD, 2, 1, 1, None, reason="one_segment")
MEASURES = (
    TsmMeasure("c1", Measure.ASV, 1, None, 9, 0.25),
    TsmMeasure("c1", Measure.ASV, 2, None, 5, 0.125),
    TsmMeasure("c1", Measure.SNTD, 2, 1, 5, 0.2),
    EMPTY,
    TsmMeasure("c1", Measure.SNTD, 2, 8, 5, 0.3),
    TsmMeasure("c1", Measure.RANDOM, 2, None, 5, 0.5),
    TsmMeasure("c1", Measure.DRAWN, 2, 1, 5, 0.49, 0.011),
    TsmMeasure("c1", Measure.DRAWN, 2, 8, 5, 0.5, 0.0),
)


def words(svg: str) -> str:
    return " ".join(ElementTree.fromstring(svg).itertext())


def test_the_histogram_parts_the_subset_at_its_bound():
    svg = ted_histogram([0.0, 0.29, 0.3, 0.9], "TED")
    assert "TED < 0.3: 2" in words(svg) and "TED ≥ 0.3: 2" in words(svg)
    assert svg == ted_histogram([0.0, 0.29, 0.3, 0.9], "TED")


def test_figures_can_be_drawn_of_nothing():
    missing = average([EMPTY])
    assert "questions" in words(ted_histogram([], "TED"))
    assert "ASV" in words(asv_figure([EMPTY], missing, "ASV"))
    assert "neighbours" in words(sntd_figure(missing, {}, "SNTD"))


def test_the_papers_values_are_drawn_only_where_they_belong():
    averages = average(MEASURES)
    assert "paper" in words(sntd_figure(averages, {1: 0.2, 8: 0.3}, "SNTD"))
    assert "paper" not in words(sntd_figure(averages, {}, "SNTD"))


def test_tables_show_values_reasons_and_the_paper():
    averages: list[TsmAverage] = average(MEASURES)
    asv, sntd, pairs = tsm_grids(averages, [], "hash-64", "locomo")
    assert [row[:2] for row in asv.rows] == [("1", "25.00%"), ("2", "12.50%")]
    assert list(sntd.rows[0]) == [
        *("1", "20.00%", "20.0–20.0%", "50.00%", "49.00 ± 1.10%"),
        *("1 (without: 1 one_segment)", "20.98%", "33.87%"),
    ]
    assert sntd.header[-2:] == ["paper", "its random"]
    assert not pairs.rows
    assert "paper" not in tsm_grids(averages, [], "hash-64", "")[1].header


def test_where_nothing_was_measured_tables_are_empty():
    assert all(not grid.rows for grid in tsm_grids([], [], "hash-64", "locomo"))


def test_numbers_of_the_paper_belong_to_the_published_file_only():
    published = LoadReport("locomo", "f", "", "LoCoMo, locomo10.json", {}, {}, ())
    other = LoadReport("locomo", "f", "", None, {}, {}, ())
    assert comparable(published, selected=False) == "locomo"
    assert comparable(published, selected=True) == comparable(other, selected=False) == ""
