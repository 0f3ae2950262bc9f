"""Answers for people to label: drawn evenly and blindly, and read back."""

import csv
import json
from collections import Counter

import polars as pl
import pytest

from analysis.sheet import Drawn, as_text, draw, key_file, read_key, read_labels, write_sheet
from analysis.validation import validate
from memsif_ray.errors import ConfigError, DataError
from tests.unit.analysis.conftest import small_run

METHODS = ("memsif", "naive-rag")


@pytest.fixture
def runs(tmp_path):
    """Two runs of two systems: six answers each on either dataset, one of them missing, one adversarial."""
    folders = []
    for dataset in ("locomo", "longmemeval"):
        folder = tmp_path / f"{dataset}-run" / "tables"
        folder.mkdir(parents=True)
        pl.DataFrame({"conversation_id": ["c"], "dataset": [dataset]}).write_parquet(
            folder / "conversations.parquet"
        )
        rows = [
            {
                "conversation_id": "c",
                "method": method,
                "run": 0,
                "question_id": f"{dataset}-{n}",
                "question": f"Question {n}?",
                "answer": None if n == 0 else f"=answer {n}",
                "gold_answer": "@gold",
                "category": "Adv" if n == 1 else "S-hop",
            }
            for method in METHODS
            for n in range(6)
        ]
        pl.DataFrame(rows, schema_overrides={"run": pl.Int32}).write_parquet(folder / "answers.parquet")
        folders.append(folder.parent)
    return folders


def test_a_draw_is_even_repeatable_and_takes_no_failed_or_adversarial_answer(runs):
    sheet = draw(runs, per_cell=3, seed=1)
    cells = [(one.dataset, one.method) for one in sheet.drawn]
    assert len(cells) == 12 and all(cells.count(cell) == 3 for cell in cells)
    assert draw(runs, per_cell=3, seed=1) == sheet
    assert draw(runs, per_cell=3, seed=2) != sheet
    every = draw(runs, per_cell=20, seed=1)
    assert len(every.drawn) == 2 * 2 * 4
    assert {one.question_id[-1] for one in every.drawn} == set("2345")
    assert [one.method for one in every.drawn] != sorted(one.method for one in every.drawn)


def test_two_settings_of_a_method_are_two_systems(write_run, tmp_path):
    outcomes = {"memsif": "rrrr"}
    paths = [
        write_run("low", small_run(outcomes), {"alpha": 0.4}),
        write_run("high", small_run(outcomes | {"bm25": "rrrr"}), {"alpha": 0.8}),
    ]
    sheet = draw(paths, per_cell=2, seed=1)
    systems = Counter(one.system for one in sheet.drawn)
    assert systems == {"memsif [alpha=0.4]": 2, "memsif [alpha=0.8]": 2, "bm25": 2}
    write_sheet(tmp_path / "out.csv", sheet)
    assert "alpha" not in (tmp_path / "out.csv").read_text(encoding="utf-8-sig")
    labels = {one.answer_id: True for one in read_key(tmp_path / "out.key.json")}
    found = validate(sheet.drawn, labels, labels, judge=labels, adjudicated={})
    assert {row.kind: row.answers for row in found.by_method} == systems


def test_a_key_of_an_earlier_version_is_read(tmp_path):
    row = {"answer_id": "a1", "dataset": "x", "method": "m", "folder": "f", "run": 0, "question_id": "q"}
    (tmp_path / "out.key.json").write_text(json.dumps([row]))
    assert read_key(tmp_path / "out.key.json")[0].system == "m"


def test_a_sheet_goes_to_people_and_comes_back(runs, tmp_path):
    sheet, path = draw(runs, per_cell=1, seed=1), tmp_path / "out.csv"
    write_sheet(path, sheet)
    text = path.read_text(encoding="utf-8-sig")
    assert not any(name in text for name in (*METHODS, "locomo", "longmemeval"))
    rows = list(csv.DictReader(text.splitlines()))
    assert [row["id"] for row in rows] == ["a1", "a2", "a3", "a4"]
    assert all(row["answer"].startswith("'=") and row["reference"] == "'@gold" for row in rows)
    assert read_key(key_file(path)) == sheet.drawn
    assert read_labels(path) == dict.fromkeys(["a1", "a2", "a3", "a4"])
    labelled = tmp_path / "labelled.csv"  # as a German spreadsheet saves it
    labelled.write_text("id;question;label\na1;x;Correct\na2;x; wrong \na3;x;\n", encoding="utf-8-sig")
    assert read_labels(labelled) == {"a1": True, "a2": False, "a3": None}
    with pytest.raises(ConfigError, match="there already"):
        write_sheet(path, sheet)


@pytest.mark.parametrize("cell", ["=1+1", "+1", "-1", "@SUM(A1)", "\t=1", " =1", "\r=1"])
def test_no_cell_is_a_formula(cell):
    assert as_text(cell) == f"'{cell}"
    assert as_text("plain - text = 1") == "plain - text = 1"
    assert as_text("") == ""


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,label\na1,maybe\n", "line 2: label 'maybe'"),
        ("id,label\na1,correct\na1,wrong\n", "line 3: a1 is labelled twice"),
        ("name,label\na1,correct\n", "needs the columns"),
    ],
)
def test_a_wrong_label_names_its_place(text, said, tmp_path):
    path = tmp_path / "labels.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=said):
        read_labels(path)


def test_labels_of_another_encoding_say_what_to_do(tmp_path):
    path = tmp_path / "labels.csv"
    path.write_bytes("id;label;answer\na1;correct;café\n".encode("cp1252"))
    with pytest.raises(DataError, match="CSV UTF-8"):
        read_labels(path)


def test_missing_files_are_named(tmp_path):
    with pytest.raises(ConfigError, match="no key at"):
        read_key(tmp_path / "none.json")
    with pytest.raises(ConfigError, match="cannot read labels"):
        read_labels(tmp_path / "none.csv")


def _drawn(answer_id: str, dataset: str, method: str) -> Drawn:
    return Drawn(answer_id, dataset, method, "run", 0, f"q-{answer_id}")


def test_table_14_by_hand():
    t, f = True, False
    # Annotators on x: both accept 2, both reject 1, differ on a4. On y: agree on both answers.
    drawn = [_drawn(name, "x", "m") for name in ("a1", "a2", "a3", "a4")]
    drawn += [_drawn("b1", "y", "m"), _drawn("b2", "y", "n"), _drawn("b3", "y", "n")]
    first = {"a1": t, "a2": t, "a3": f, "a4": t, "b1": t, "b2": f, "b3": t}
    second = {"a1": t, "a2": t, "a3": f, "a4": f, "b1": t, "b2": f, "b3": None}
    judge = {"a1": t, "a2": f, "a3": f, "a4": t, "b1": t, "b2": t, "b3": t}
    found = validate(drawn, first, second, judge=judge, adjudicated={})
    x, y = found.humans
    # p_o = 3/4, p_e = 3/4·2/4 + 1/4·2/4 = 1/2, kappa = 1/2
    assert (x.kind, x.answers, x.agreement, x.kappa.point) == ("x", 4, 0.75, 0.5)
    assert (y.agreement, y.kappa.point) == (1.0, 1.0)
    # Judge against what both say, on x without a4: accepts a1, rejects a2 and a3; people accept a1 and a2.
    # p_o = 2/3, p_e = 1/3·2/3 + 2/3·1/3 = 4/9, kappa = 2/5
    assert found.judge[0].agreement == pytest.approx(2 / 3)
    assert found.judge[0].kappa.point == pytest.approx(0.4)
    assert (found.judge_only, found.humans_only) == (1, 1)  # b2 and a2
    assert (found.undecided, found.unlabelled, found.unjudged) == (("a4",), ("b3",), ())
    assert found.overall["human_agreement"] == pytest.approx((0.75 + 1) / 2)
    assert found.overall["human_kappa"] == pytest.approx(0.75)
    assert [row.kind for row in found.by_method] == ["m", "n"]


def test_an_adjudicated_label_settles_a_difference_and_no_agreement():
    drawn = [_drawn("a1", "x", "m"), _drawn("a2", "x", "m")]
    labels = {"first": {"a1": True, "a2": True}, "second": {"a1": False, "a2": True}}
    found = validate(
        drawn, *labels.values(), judge={"a1": False, "a2": True}, adjudicated={"a1": False, "a2": False}
    )
    assert (found.judge[0].agreement, found.undecided) == (1.0, ())
    assert found.humans[0].agreement == 0.5
