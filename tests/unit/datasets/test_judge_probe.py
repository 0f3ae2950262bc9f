"""Answers of known worth, read from a file."""

import json

import pytest

from memsif_ray.datasets.judge_probe import read_probe
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.types import Category

ROW = {
    "source": "vague_wrong",
    "question_id": "locomo_2_qa5",
    "category": 2,
    "question": "When did Ann move?",
    "gold": 2022,
    "answer": "some years ago",
    "verdicts": [True, False, True],
}


def _file(tmp_path, *rows):
    path = tmp_path / "probe.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows) + "\n")
    return path


def test_a_line_is_a_question_its_gold_an_answer_and_the_votes(tmp_path):
    (one,) = read_probe(_file(tmp_path, ROW))
    assert (one.kind, one.answer, one.votes) == ("vague_wrong", "some years ago", (True, False, True))
    assert (one.question.conversation_id, one.question.index) == ("locomo_2", 5)
    assert (one.question.category, one.gold.answer) == (Category.TEMPORAL, "2022")


def test_a_file_of_another_encoding_is_named(tmp_path):
    path = tmp_path / "probe.jsonl"
    path.write_bytes(json.dumps(ROW | {"answer": "caf\xe9"}, ensure_ascii=False).encode("cp1252"))
    with pytest.raises(DataError, match=r"probe\.jsonl: not UTF-8"):
        read_probe(path)


def test_a_limit_takes_of_every_kind_as_many_spread_over_the_file(tmp_path):
    rows = [ROW | {"source": kind, "question_id": f"locomo_0_qa{n}"} for n in range(6) for kind in ("a", "b")]
    kept = read_probe(_file(tmp_path, *rows), limit=3)
    assert [(one.kind, one.question.index) for one in kept] == [(k, n) for k in "ab" for n in (0, 2, 4)]
    assert len(read_probe(_file(tmp_path, *rows), limit=99)) == 12


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ([ROW, ROW], "line 2: vague_wrong answers locomo_2_qa5 twice"),
        ([ROW | {"category": 9}], "line 1: category"),
        ([ROW | {"question_id": "x"}], "not like"),
    ],
)
def test_a_wrong_line_is_named(rows, said, tmp_path):
    with pytest.raises(DataError, match=said):
        read_probe(_file(tmp_path, *rows))


def test_a_line_that_is_no_json_and_a_missing_file(tmp_path):
    path = _file(tmp_path, ROW)
    path.write_text("{")
    with pytest.raises(DataError, match="line 1: not JSON"):
        read_probe(path)
    with pytest.raises(ConfigError):
        read_probe(tmp_path / "none")
