import json
import shutil

import pytest

PROBE = {
    "question_id": "locomo_0_qa0",
    "category": 4,
    "question": "What did Ann buy?",
    "gold": "a red kite",
    "verdicts": [True, True, False],
}


@pytest.fixture
def probe_file(tmp_path):
    rows = [
        PROBE | {"source": "specific_wrong", "answer": "a red boat"},
        PROBE | {"source": "full_context", "answer": "red kite"},
    ]
    path = tmp_path / "probe.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    return path


def test_a_grader_without_a_model_is_probed(memsif, probe_file):
    result = memsif("judge", "probe", "--data", probe_file, "--grader", "f1", "--json")
    assert result.exit_code == 0
    plain = json.loads(result.stdout)
    assert plain["grader"] == "f1, accepting from F1 0.5"
    wrong, right, every = plain["kinds"]
    assert (wrong["false_accepts"], right["false_accepts"], every["accepted"]) == (1.0, None, 1.0)
    strict = memsif("judge", "probe", "--data", probe_file, "--grader", "f1", "--threshold", "0.9")
    assert "specific_wrong *" in strict.stdout and "accepting from F1 0.9" in strict.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--grader", "bleu"), "no grader 'bleu'; there is f1, rules"),
        (("--grader", "f1", "--profile", "lenient"), "not both"),
        (("--profile", "kind"), "judging.profile"),
    ],
)
def test_a_wrong_grader_is_refused(memsif, probe_file, options, said):
    result = memsif("judge", "probe", "--data", probe_file, *options)
    assert result.exit_code == 2
    assert said in result.stderr


def test_judge_takes_a_run_without_naming_the_command(memsif, finished):
    for arguments in (("judge", "other"), ("judge", "run", "other")):
        result = memsif(*arguments)
        assert result.exit_code == 2
        assert "'other' names no runs" in result.stderr
    assert "probe" in memsif("judge", "--help").stdout


def test_labels_of_two_people_are_compared_with_the_runs_judge(memsif, finished, tmp_path):
    sheet = tmp_path / "one.csv"
    plain = json.loads(memsif("sheet", "export", "latest", sheet, "--json").stdout)
    assert (plain["answers"], plain["cells"]) == (1, 1)  # the other question has no answer
    sheet.write_text(sheet.read_text(encoding="utf-8-sig").replace('""', '"correct"'))
    other = shutil.copy(sheet, tmp_path / "two.csv")
    found = json.loads(memsif("sheet", "import", "latest", sheet, other, "--json").stdout)
    assert [(row["kind"], row["agreement"]) for row in found["humans"]] == [("locomo", 1.0)]
    assert [(row["kind"], row["agreement"]) for row in found["judge"]] == [("locomo", 1.0)]
    shown = memsif("sheet", "import", "latest", sheet, other).stdout
    assert "H–H κ" in shown and "The judge alone accepts 0 answers, people alone 0." in shown


def test_a_sheet_is_never_written_over(memsif, finished, tmp_path):
    sheet = tmp_path / "one.csv"
    assert memsif("sheet", "export", "latest", sheet).exit_code == 0
    again = memsif("sheet", "export", "latest", sheet)
    assert again.exit_code == 2
    assert "there already" in again.stderr
