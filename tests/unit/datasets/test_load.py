"""Selecting and identifying datasets."""

import json
from pathlib import Path

import pytest

from memsif_ray.config import DataConfig
from memsif_ray.datasets import check, iter_histories, load
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.types import Category


def test_everything_is_selected_by_default() -> None:
    dataset = load(DataConfig())
    assert dataset.name == "sample"
    assert len(dataset.questions) == dataset.report.counts["questions"]
    assert dataset.gold.keys() == dataset.strict_evidence.keys() == {q.question_id for q in dataset.questions}


def test_conversations_and_limit() -> None:
    dataset = load(DataConfig(conversations=("vera", "ines-rowan"), limit=2))
    assert [conversation.conversation_id for conversation in dataset.conversations] == ["ines-rowan", "vera"]
    assert [question.question_id for question in dataset.questions] == [
        "ines-rowan_q0",
        "ines-rowan_q1",
        "vera_01",
        "vera_02",
    ]


def test_a_conversation_without_selected_questions_is_left_out() -> None:
    dataset = load(DataConfig(questions=("vera_03",)))
    assert [conversation.conversation_id for conversation in dataset.conversations] == ["vera"]
    assert list(dataset.gold) == ["vera_03"]


def test_adversarial_questions_can_be_left_out() -> None:
    dataset = load(DataConfig(adversarial=False))
    assert len(dataset.questions) == dataset.report.counts["scored_questions"]
    assert all(question.category is not Category.ADVERSARIAL for question in dataset.questions)


def test_the_report_is_about_the_whole_file() -> None:
    assert load(DataConfig(limit=1)).report == load(DataConfig()).report


def test_lazy_reading_selects_alike() -> None:
    config = DataConfig(limit=3)
    assert tuple(history.conversation for history in iter_histories(config)) == load(config).conversations


@pytest.mark.parametrize(
    ("config", "complaint"),
    [
        (DataConfig(conversations=("vera", "nobody")), "unknown conversation nobody; known are ines-rowan"),
        (DataConfig(questions=("vera_99",)), "unknown question vera_99; known are ines-rowan_q0"),
    ],
)
def test_unknown_ids_are_refused_with_the_known_ones(config: DataConfig, complaint: str) -> None:
    with pytest.raises(ConfigError, match=complaint):
        load(config)


def test_a_file_of_the_other_benchmark_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "mine.json"
    file.write_text(json.dumps([{"haystack_sessions": []}]))
    with pytest.raises(DataError, match=r"mine\.json, record 0: this is longmemeval data, not locomo"):
        load(DataConfig(dataset="locomo", path=file))


def test_a_conversation_twice_is_refused(tmp_path: Path) -> None:
    record = {"sample_id": "x", "conversation": {"speaker_a": "A", "speaker_b": "B"}, "qa": []}
    (tmp_path / "mine.json").write_text(json.dumps([record, record]))
    with pytest.raises(DataError, match="conversation x occurs more than once"):
        check(tmp_path / "mine.json")


@pytest.mark.parametrize("content", ["[]", "{}", "[[]]", '"text"', '[{"question_id": "q"}]'])
def test_check_refuses_what_it_does_not_know(tmp_path: Path, content: str) -> None:
    file = tmp_path / "mine.json"
    file.write_text(content)
    with pytest.raises(DataError, match=r"mine\.json, record 0: neither"):
        check(file)


def test_check_knows_the_sample() -> None:
    report = check()
    assert (report.dataset, report.release, report.repairs) == ("sample", None, ())
