"""The published files themselves: totals, categories, repairs (cases MC-41, MC-42)."""

from collections import Counter
from pathlib import Path

import pytest

from memsif_ray.config import DataConfig
from memsif_ray.datasets import Dataset, check, load
from memsif_ray.types import Category


@pytest.fixture(scope="module")
def locomo(data_dir: Path) -> Dataset:
    return load(DataConfig(dataset="locomo", path=published(data_dir, "locomo/locomo10.json")))


def published(data_dir: Path, name: str) -> Path:
    if not (data_dir / name).is_file():
        pytest.skip(f"no {name} in {data_dir}")
    return data_dir / name


def test_locomo_is_recognised(locomo: Dataset) -> None:
    assert locomo.report.release == "LoCoMo, locomo10.json"


def test_locomo_totals(locomo: Dataset) -> None:
    expected = {
        "conversations": 10,
        "sessions": 272,
        "messages": 5_882,
        "questions": 1_986,
        "scored_questions": 1_540,
        "recall_questions": 1_982,
        "evidence_items": 2_815,
        "evidence_ids": 2_823,
        "evidence_resolved": 2_821,
        "evidence_distinct": 2_820,
        "abstain_questions": 444,
        "traps": 446,
        "integer_answers": 6,
        "captions": 1_226,
        "dates_without_session": 16,
        "blank_messages": 0,
        "empty_sessions": 0,
    }
    assert dict(locomo.report.counts) == expected
    assert dict(locomo.report.categories) == {
        Category.SINGLE_HOP: 841,
        Category.MULTI_HOP: 282,
        Category.TEMPORAL: 321,
        Category.KNOWLEDGE: 96,
        Category.ADVERSARIAL: 446,
    }


def test_locomo_repairs(locomo: Dataset) -> None:
    repairs = {
        kind: [(r.conversation_id, r.question_index) for r in locomo.report.repairs if r.kind == kind]
        for kind in ("split", "rewritten", "absent", "unreadable", "duplicate", "no_evidence")
    }
    assert repairs == {
        "split": [("conv-26", 37), ("conv-49", 31), ("conv-49", 38), ("conv-49", 46)],
        "rewritten": [("conv-43", 18), ("conv-50", 69)],
        "absent": [("conv-42", 58), ("conv-47", 38)],
        "unreadable": [("conv-42", 88)],
        "duplicate": [("conv-50", 5)],
        "no_evidence": [("conv-26", 30), ("conv-26", 46), ("conv-50", 39), ("conv-50", 42)],
    }
    assert len(locomo.report.repairs) == 14


def test_partly_missing_evidence_is_kept(locomo: Dataset) -> None:
    for question_id in ("conv-42_q58", "conv-47_q38", "conv-42_q88"):
        assert locomo.gold[question_id].evidence


def test_locomo_own_answers_of_adversarial_questions(locomo: Dataset) -> None:
    own = [
        gold
        for question in locomo.questions
        if question.category is Category.ADVERSARIAL
        and not (gold := locomo.gold[question.question_id]).abstain
    ]
    assert [(gold.question_id, gold.answer, gold.trap) for gold in own] == [
        ("conv-26_q167", "No", "Yes"),
        ("conv-26_q178", "No", "Yes"),
    ]


def test_most_traps_are_the_gold_of_another_question(locomo: Dataset) -> None:
    answers = {(q.conversation_id, locomo.gold[q.question_id].answer) for q in locomo.questions}
    leaks = sum((q.conversation_id, locomo.gold[q.question_id].trap) in answers for q in locomo.questions)
    assert leaks == 430


def test_strict_evidence_gives_the_papers_number_of_questions(locomo: Dataset) -> None:
    several = Counter(
        len(locomo.strict_evidence[question.question_id]) >= 2
        for question in locomo.questions
        if question.category is not Category.ADVERSARIAL
    )
    assert several[True] == 409


def test_locomo_is_clean_of_what_its_survey_did_not_find(locomo: Dataset) -> None:
    for conversation in locomo.conversations:
        assert {message.speaker for message in conversation.messages} == set(conversation.speakers)
        times = [message.timestamp for message in conversation.messages]
        assert times == sorted(times)
    hours = Counter(
        timestamp.hour
        for _, timestamp in {
            (message.conversation_id, message.timestamp)
            for conversation in locomo.conversations
            for message in conversation.messages
        }
    )
    assert hours[0] == 14


@pytest.mark.parametrize("name", ["oracle_user_turns_500", "evidence_turns_500"])
def test_longmemeval_categories(data_dir: Path, name: str) -> None:
    report = check(published(data_dir, f"longmemeval/{name}.json"))
    assert dict(report.categories) == {
        Category.SINGLE_HOP: 150,
        Category.MULTI_HOP: 121,
        Category.TEMPORAL: 127,
        Category.KNOWLEDGE: 72,
        Category.ADVERSARIAL: 30,
    }
    assert report.counts["abstain_questions"] == 30
    assert report.counts["integer_answers"] == 32


def test_longmemeval_undated_sessions_are_counted(data_dir: Path) -> None:
    report = check(published(data_dir, "longmemeval/oracle_user_turns_500.json"))
    assert (report.counts["sessions"], report.counts["undated_sessions"]) == (948, 63)


def test_longmemeval_full_histories(data_dir: Path) -> None:
    dataset = load(
        DataConfig(dataset="longmemeval", path=published(data_dir, "longmemeval/s_full_haystack_4.json"))
    )
    assert len(dataset.conversations) == 4
    assert all(dataset.gold[question.question_id].evidence for question in dataset.questions)
    for conversation in dataset.conversations:
        ids = [message.message_id for message in conversation.messages]
        assert len(set(ids)) == len(ids)
        times = [message.timestamp for message in conversation.messages]
        assert times == sorted(times)


def test_point_in_time_drops_what_the_report_counts(data_dir: Path) -> None:
    path = published(data_dir, "longmemeval/oracle_subset.json")
    official = load(DataConfig(dataset="longmemeval", path=path)).report.counts
    strict = load(DataConfig(dataset="longmemeval", path=path, point_in_time=True)).report.counts
    assert official["sessions_after_question"] == strict["sessions_after_question"] == 55
    assert official["sessions"] - strict["sessions"] == 55
