"""Tables and figure of the diagnoses that ask a model say what was found, what is missing, and why."""

from xml.etree import ElementTree

import pytest

from analysis.diagnosis.dum import loss_grids, lshu_grids
from analysis.diagnosis.pages import dum_report, validation_report
from analysis.diagnosis.validation import validation_grids
from analysis.figures.diagnostics import loss_figure
from memsif_ray.datasets import LoadReport
from memsif_ray.diagnostics.compaction import CAPACITIES, CompactedAnswer, Recovery
from memsif_ray.diagnostics.dum import DumFindings, summary
from memsif_ray.diagnostics.loss import LossPoint, Mode, loss_points
from memsif_ray.diagnostics.lshu import EvidenceScore
from memsif_ray.diagnostics.validation import PairJudgement
from memsif_ray.types import Category

SOURCE = LoadReport("locomo", "f", "", None, {}, {}, ())
ONE = Category.SINGLE_HOP


def evidence(question, salience, utility):
    reason = "unreadable: not_json"
    return EvidenceScore(
        "c1",
        question,
        ONE,
        question,
        salience,
        "" if salience else reason,
        utility,
        "" if utility else reason,
    )


SCORES = [evidence("a", 1, 3), evidence("b", 3, 3), evidence("c", None, 3), evidence("d", 2, 1)]
RECOVERIES = [
    Recovery("c1", "a", ONE, c, f"m{n}", label, "", ())
    for c in CAPACITIES
    for n, label in enumerate(["FULL", "NONE" if c == 2 else "PARTIAL", None])
]
ANSWERS = [
    CompactedAnswer("c1", "a", ONE, c, ("m0", "m1"), 1 if c == 2 else 0, "so", label, "", ())
    for c, label in zip(CAPACITIES, ("CORRECT", "WRONG", "PARTIAL", None), strict=True)
]
FOUND = DumFindings(
    {name: ONE for name in "abcde"}, SCORES, ["a"], RECOVERIES, ANSWERS, loss_points(RECOVERIES, ANSWERS)
)
EMPTY = DumFindings({}, [], [], [], [], [])


def cells(grid):
    return [tuple(map(str, row)) for row in grid.rows]


def test_scores_and_rates():
    scores, rates, subset = lshu_grids(FOUND, "a model", "locomo")
    assert cells(scores)[0] == (
        "S(e), of utterances",
        "1 (25.0%)",
        "1 (25.0%)",
        "1 (25.0%)",
        "1 unreadable: not_json",
    )
    assert [row[:3] for row in cells(rates)] == [
        ("pairs", "1 / 2", "50.00%"),
        ("questions", "1 / 2", "50.00%"),
        ("all questions", "1 / 4", "25.00%"),
    ]
    assert cells(rates)[0][-2:] == ("1", "41.55%")
    assert cells(subset)[0] == ("S-hop", "1 (100.0%)", "271 (63.9%)")


def test_losses():
    cdl, qad, correlation = loss_grids(FOUND, "locomo")
    assert cdl.header == ("memory", "raw", "c = 2", "c = 4", "c = 8")
    assert [(row[0], row[2]) for row in cells(cdl)] == [
        ("facts kept", "2 / 3"),
        ("fully recoverable", "1"),
        ("partially", "0"),
        ("not", "1"),
        ("missing", "1"),
        ("DRR strict", "50.00%"),
        ("CDL strict", "50.00%"),
        ("CDL strict, paper", "56.16%"),
        ("DRR lenient", "50.00%"),
        ("CDL lenient", "50.00%"),
        ("CDL lenient, paper", "54.79%"),
    ]
    rows = {row[0]: row[1:] for row in cells(qad)}
    assert rows["QAD strict"] == ("–", "100.00%", "100.00%", "nothing judged (0)")
    assert rows["QAD lenient"] == ("–", "100.00%", "50.00%", "nothing judged (0)")
    assert rows["QAD strict, paper"] == ("–", "25.00%", "25.00%", "16.00%")
    assert [row[2:] for row in cells(correlation)] == [
        ("too few", "2", "1", "0.58"),
        ("too few", "2", "1", "0.94"),
        ("too few", "0", "3", "0.39"),
        ("too few", "0", "3", "0.36"),
    ]


@pytest.mark.parametrize("paper", ["", "locomo", "longmemeval"])
@pytest.mark.parametrize("found", [FOUND, EMPTY])
def test_nothing_is_ever_nan(paper, found):
    grids = [*lshu_grids(found, "a model", paper), *loss_grids(found, paper)]
    for grid in grids:
        assert all(len(row) == len(grid.header) for row in grid.rows)
        assert "nan" not in str(cells(grid)).lower()
        told = "paper" in str((grid.header, cells(grid)))
        assert told or paper != "locomo" or grid.name == "dum-scores"
        assert paper or not told
    assert "nan" not in str(summary(found)).lower()


def test_rates_of_buckets():
    said = [
        PairJudgement(f"p{n}", "adjacent", "high", "c", label, "", (label or "unreadable: not_json",) * 3)
        for n, label in enumerate(["SHIFT", "SAME", "SAME", "SAME", None])
    ]
    shifts, threads = validation_grids(said, "a model", "longmemeval")
    assert cells(shifts)[2] == ("high", "1 / 4", "25.00%", "4.6–69.9%", "1", "3", "47.00%")
    assert cells(threads)[0] == ("near", "0 / 0", "nothing judged", "–", "0", "0", "59.00%")


def test_the_figure_counts_points_and_leaves_out_what_is_missing():
    def point(question, cdl, qad, mode):
        return LossPoint("c1", question, ONE, 2, mode, cdl, qad, "")

    points = [
        point(name, cdl, qad, mode)
        for mode in Mode
        for name, cdl, qad in [("a", 0.0, 0.0), ("b", 0.0, 0.0), ("c", 1.0, 1.0), ("d", None, 1.0)]
    ]
    words = " ".join(" ".join(ElementTree.fromstring(loss_figure(points, "Losses")).itertext()).split())
    assert "strict: r = 1.00, n = 3" in words
    assert "r = too few, n = 0" in " ".join(ElementTree.fromstring(loss_figure([], "Losses")).itertext())


def test_pages_can_be_written_of_anything(tmp_path):
    about = {"judge": "a model", "model": "another", "ids": "strict"}
    report = dum_report(tmp_path, SOURCE, FOUND, about=about, selected=False)
    assert "<svg" in report.page.read_text() and len(report.grids) == 6
    report = dum_report(tmp_path, SOURCE, EMPTY, about=about, selected=False)
    assert "Here there is none" in report.page.read_text() and len(report.grids) == 3
    judged = validation_report(tmp_path, SOURCE, [], judge="a model", embedder="hash", selected=False)
    assert "Table 7" in judged.page.read_text()
