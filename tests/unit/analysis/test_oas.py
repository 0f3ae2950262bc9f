"""Labels become utilities, a study, tables and a page; what is undefined says so."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from analysis.figures import oas as figures
from analysis.figures.style import as_svg
from analysis.oas.grids import accuracy_grid, gain_cell, p_cell, stratum_grid
from analysis.oas.page import grids, shown, write_oas_page
from analysis.oas.study import MLP, scaled, study
from memsif_ray.cli import app
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.packing.evaluation import PolicyRow, by_fit, compare, policies_of
from memsif_ray.packing.features import EXTENDED, PAPER
from memsif_ray.packing.router import load_router
from memsif_ray.packing.utilities import Utilities
from memsif_ray.statistics.differences import Difference
from memsif_ray.storage.labels import read_labels
from tests.unit.analysis.oas_labels import write_labels
from tests.unit.packing.planted import planted


@pytest.fixture(scope="module")
def few():
    return planted(3, questions=20).data


@pytest.fixture
def labels(tmp_path, few):
    return read_labels(write_labels(tmp_path / "labels", few))


def test_labels_come_back_as_the_utilities_they_were(labels, few):
    np.testing.assert_array_equal(labels.data.values, few.values)
    np.testing.assert_array_equal(labels.data.features, few.features)
    assert (labels.data.embedder, labels.refused, len(labels.questions)) == ("hash-64", 0, 20)


def test_the_extended_features_are_there_too(labels):
    extended = read_labels(labels.path, feature_set="extended").data
    assert extended.features.shape[1] == len(EXTENDED) > len(PAPER)


def test_a_row_without_a_grade_is_refused_and_counted(tmp_path, few):
    found = read_labels(write_labels(tmp_path / "labels", few, without={"q003": 64}))
    assert (found.refused, len(found.data)) == (1, len(few) - 1)


def test_other_folders_are_refused(tmp_path, few):
    with pytest.raises(ConfigError, match="holds no labels"):
        read_labels(tmp_path)
    budgets = {int(budget) for budget in few.budgets}
    one = few.where(few.questions == "q003")
    for budget in sorted(budgets)[1:]:
        one = one.where(one.budgets != budget)
    with pytest.raises(DataError, match="utility of every action"):
        read_labels(write_labels(tmp_path / "empty", one, without={"q003": 32}))


def tiny() -> Utilities:
    """Two questions at one budget: merge wins the first, retain the second."""
    features = np.zeros((2, len(PAPER)))
    features[:, PAPER.index("fit_fraction")] = [0.0, 1.0]
    return Utilities.of(["a", "b"], [32, 32], features, [[0.0, 1.0, 0.5, 0.0], [1.0, 0.5, 0.5, 0.0]])


def test_tables_by_hand():
    rows = compare(tiny(), policies_of(tiny()))
    grid = accuracy_grid(rows, "a", "Accuracy")
    assert [tuple(map(str, row)) for row in grid.rows] == [
        ("retain", "50.0", "50.0"),
        ("merge", "75.0", "75.0"),
        ("abstract", "50.0", "50.0"),
        ("rewrite", "0.0", "0.0"),
        ("oracle", "100.0", "100.0"),
    ]
    assert [row[0] for row in grid.rows if getattr(row[1], "mark", "") == "best"] == ["merge"]
    strata = stratum_grid(by_fit(tiny())).rows
    assert strata[0] == (
        "32",
        "none",
        "1",
        "0.0",
        "+100.0 (one question)",
        "+50.0 (one question)",
        "+0.0 (one question)",
    )
    assert strata[1][:5] == ("32", "full", "1", "100.0", "-50.0 (one question)")


@pytest.mark.parametrize(
    ("gain", "cell", "p"),
    [
        (Difference(0, flag="empty"), "–", "–"),
        (Difference(1, 0.25, flag="one_question"), "+25.0 (one question)", "–"),
        (Difference(9, 0.1, -0.05, 0.2, 0.0421), "+10.0 [-5.0, +20.0]", "0.042"),
        (Difference(9, -0.1, -0.2, 0.0, 0.0002), "-10.0 [-20.0, +0.0]", "<0.001"),
    ],
)
def test_cells(gain, cell, p):
    assert (gain_cell(gain), p_cell(gain)) == (cell, p)


@pytest.mark.parametrize(
    ("questions", "sizes"),
    [(500, (350, 75, 75)), (40, (28, 6, 6)), (7, (5, 1, 1)), (3, (3, 0, 0))],
)
def test_a_split_is_scaled_to_the_questions(questions, sizes):
    assert scaled((350, 75, 75), questions) == sizes


def test_a_study_of_few_questions_is_whole(labels):
    found = study(labels)
    assert found.undefined == ("full-history transfer: no labels with retrieved candidates were given",)
    assert found.split is not None and found.split.sizes == (14, 3, 3)
    policies = {row.policy for row in found.policies}
    assert {"router", "router-safe", "best-fixed", "best-per-budget", "oracle"} <= policies
    assert MLP not in policies
    assert found.router.training.questions == 14
    assert set(found.router.thresholds) == {32, 64, 128, 256}


def test_what_three_questions_cannot_define_is_named(tmp_path):
    found = study(read_labels(write_labels(tmp_path / "labels", planted(3, questions=3).data)))
    assert [one.partition(":")[0] for one in found.undefined] == [
        "cross-fitted policies",
        "controlled split",
        "full-history transfer",
    ]
    assert found.fitted is None and found.split is None
    assert [grid.name for grid in shown(found)] == ["oas-accuracy", "oas-gains", "oas-strata"]
    assert "What is undefined here" in write_oas_page(found).read_text()


def test_the_page_has_all_tables_and_figures(labels):
    found = study(labels, history=labels)
    page = write_oas_page(found)
    pictures = {path.stem for path in (page.parent / "figures").iterdir()}
    assert pictures == {
        "oas-accuracy-by-budget",
        "oas-gain-by-fit",
        "oas-mechanism",
        "oas-action-shares",
        "oas-help-harm",
        "oas-calibration",
    }
    tables = {path.stem for path in (page.parent / "tables").glob("*.csv")}
    assert {grid.name for grid in shown(found)} <= tables
    assert {"oas-labels", "oas-history-gains", "oas-split-accuracy"} <= tables
    assert len(grids(found)) == 6


def test_the_same_figure_is_the_same_text(labels):
    found = study(labels)
    once, again = (as_svg(figures.calibration(found.calibration), "c") for _ in range(2))
    assert once == again and "predicted utility" in once


def test_shares_of_a_policy_are_drawn_up_to_100():
    rows = [PolicyRow("router", 32, 4, 0.5, Difference(4, 0.0), 0.2, 0.1, (0.25, 0.5, 0.25, 0.0))]
    axes = figures.action_shares(rows).axes[0]
    assert sum(bar.get_height() for bar in axes.patches) == 100
    low = min(bar.get_y() + bar.get_height() for bar in figures.help_and_harm(rows).axes[0].patches)
    assert low == -10


def test_train_prints_saves_and_reports(labels, tmp_path):
    saved = tmp_path / "router.json"
    done = CliRunner().invoke(app, ["oas", "train", str(labels.path), "--save", str(saved), "--json"])
    assert done.exit_code == 0, done.stderr
    plain = json.loads(done.stdout)
    assert plain["questions"] == 20 and plain["history"] is None
    assert plain["router"] == str(saved) and load_router(saved).budgets == (32, 64, 128, 256)
    assert "undefined: full-history transfer" in done.stderr


@pytest.mark.parametrize("wrong", [["--features", "all"], ["--split", "1,x,3"], ["--split", "0,1,1"]])
def test_wrong_options_are_refused_before_any_work(labels, wrong):
    done = CliRunner().invoke(app, ["oas", "train", str(labels.path), *wrong])
    assert done.exit_code == 2
    assert not (labels.path / "report.html").exists()
