"""Corrections of reference answers: what they replace, and what they leave alone."""

import json

import pytest

from memsif_ray.config import DataConfig
from memsif_ray.datasets import load
from memsif_ray.datasets.audit import read_audit
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.types import Category, Gold, Question

WRONG = {
    "question_id": "locomo_3_qa7",
    "question": "When did Bo move? ",
    "golden_answer": 2022,
    "correct_answer": "May 2021",
    "error_type": "TEMPORAL_ERROR",
    "reasoning": "not read",
}
CITED = WRONG | {"question_id": "locomo_3_qa8", "error_type": "WRONG_CITATION"}


def _question(index: int, text="When did Bo move?", category=Category.TEMPORAL) -> Question:
    return Question(f"conv-44_q{index}", "conv-44", index, text, category)


def _audit(tmp_path, *records):
    path = tmp_path / "audit.json"
    path.write_text(json.dumps(records))
    return read_audit(path)


def test_an_answer_is_replaced_where_place_text_and_answer_are_those_of_the_audit(tmp_path):
    audit = _audit(tmp_path, WRONG, CITED)
    gold = Gold("conv-44_q7", "2022", ("D1:1",), kind="k")
    assert audit.corrected(_question(7), gold) == Gold("conv-44_q7", "May 2021", ("D1:1",), kind="k")
    for question, other in (
        (_question(8), gold),  # only the citation is wrong
        (_question(9), gold),
        (_question(7, "When did Ann move?"), gold),
        (_question(7), Gold("conv-44_q7", "2021")),  # another release
    ):
        assert audit.corrected(question, other) is other


def test_the_ceiling_counts_no_adversarial_question(tmp_path):
    audit = _audit(tmp_path, WRONG)
    asked = [
        (_question(n, category=Category.ADVERSARIAL if n == 1 else Category.TEMPORAL), Gold(f"q{n}", "2022"))
        for n in (1, 6, 7, 8, 9)
    ]
    ceiling = audit.ceiling(asked)
    assert (ceiling.questions, ceiling.wrong, ceiling.released) == (4, 1, 0.75)
    assert audit.ceiling([]).released is None


@pytest.mark.parametrize(
    ("records", "said"),
    [
        ([WRONG, WRONG], "record 1: locomo_3_qa7 is corrected twice"),
        ([WRONG | {"question_id": "conv-44_q7"}], "not like 'locomo_0_qa12'"),
        ([{"question_id": "locomo_3_qa7"}], "record 0: question"),
    ],
)
def test_what_is_no_audit_is_refused_by_record(records, said, tmp_path):
    with pytest.raises(DataError, match=said):
        _audit(tmp_path, *records)


def test_a_missing_file_is_a_wrong_option(tmp_path):
    with pytest.raises(ConfigError):
        read_audit(tmp_path / "none.json")


def test_the_published_audit_leaves_93_57_percent_to_the_released_answers(data_dir):
    audit = read_audit(data_dir / "locomo_audit" / "errors.json")
    dataset = load(DataConfig(dataset="locomo", path=data_dir / "locomo" / "locomo10.json"))
    ceiling = audit.ceiling((one, dataset.gold[one.question_id]) for one in dataset.questions)
    assert (len(audit.answers), ceiling.questions, ceiling.wrong) == (99, 1540, 99)
    assert round(100 * ceiling.released, 2) == 93.57
