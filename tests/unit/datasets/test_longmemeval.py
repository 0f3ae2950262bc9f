"""LongMemEval's records and oddities (case MC-44)."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memsif_ray.datasets.longmemeval import histories, parse_record
from memsif_ray.errors import DataError
from memsif_ray.types import Category

ITEM: dict[str, Any] = {
    "question_id": "q-1",
    "question_type": "temporal-reasoning",
    "question": "How many weeks between the two races?",
    "answer": 15,
    "question_date": "2023/05/30 (Tue) 09:00",
    "haystack_session_ids": ["s_b", "s_a", "s_c"],
    "haystack_dates": ["2023/05/20 (Sat) 10:00", "2023/01/19 (Thu) 10:47", "2023/05/30 (Tue) 21:00"],
    "haystack_sessions": [
        [],
        [{"role": "user", "content": "First race done today.", "has_answer": True}],
        [{"role": "user", "content": "Second race tonight!"}, {"role": "assistant", "content": "Well run."}],
    ],
    "answer_session_ids": ["s_a"],
}
ONE_SESSION: dict[str, Any] = {
    "haystack_session_ids": ["a"],
    "haystack_dates": ["2023/05/01 (Mon) 10:00"],
    "haystack_sessions": [[{"role": "user", "content": "I like boats.", "has_answer": True}]],
}


def test_sessions_are_ordered_by_date_and_empty_ones_count() -> None:
    history = parse_record(ITEM, "file")
    messages = history.conversation.messages
    assert [(m.message_id, m.session, m.position) for m in messages] == [
        ("s_a:1", 1, 0),
        ("s_c:1", 3, 1),
        ("s_c:2", 3, 2),
    ]
    assert [m.role for m in messages] == [m.speaker for m in messages] == ["user", "user", "assistant"]
    assert messages[0].timestamp == datetime(2023, 1, 19, 10, 47)
    assert history.counts["empty_sessions"] == 1


def test_integer_answer_evidence_and_question_date() -> None:
    history = parse_record(ITEM, "file")
    assert history.gold["q-1"].answer == "15"
    assert history.gold["q-1"].evidence == history.strict_evidence["q-1"] == ("s_a:1",)
    (question,) = history.questions
    assert (question.conversation_id, question.asked_at) == ("q-1", datetime(2023, 5, 30, 9))
    assert question.category is Category.TEMPORAL


def test_sessions_after_the_question_are_counted_and_dropped_on_request() -> None:
    official, strict = parse_record(ITEM, "file"), parse_record(ITEM, "file", point_in_time=True)
    assert official.counts["sessions_after_question"] == strict.counts["sessions_after_question"] == 1
    assert len(official.conversation.messages) == 3
    assert [m.message_id for m in strict.conversation.messages] == ["s_a:1"]


def test_a_question_date_without_time_means_the_end_of_that_day() -> None:
    history = parse_record({**ITEM, "question_date": "2023/05/30"}, "file", point_in_time=True)
    assert history.counts["sessions_after_question"] == 0
    assert len(history.conversation.messages) == 3


def test_ties_keep_their_order_and_ids_become_unique() -> None:
    one = [{"role": "user", "content": "x"}]
    item = {
        **ITEM,
        "haystack_session_ids": ["s", "s", "r"],
        "haystack_dates": ["2023/05/01 (Mon) 10:00"] * 3,
        "haystack_sessions": [one, one, one],
    }
    messages = parse_record(item, "file").conversation.messages
    assert [message.message_id for message in messages] == ["s:1", "s#2:1", "r:1"]


def test_an_undated_session_gets_the_date_of_the_question() -> None:
    item = {**ITEM, "haystack_dates": [None, *ITEM["haystack_dates"][1:]]}
    history = parse_record(item, "file", point_in_time=True)
    assert history.counts["undated_sessions"] == 1
    assert history.counts["sessions"] == 2


def test_an_abstention_has_neither_answer_nor_evidence() -> None:
    item = {**ITEM, **ONE_SESSION, "question_id": "q-3_abs", "answer": "The boat was never mentioned."}
    history = parse_record(item, "file")
    gold = history.gold["q-3_abs"]
    assert (gold.abstain, gold.answer, gold.evidence) == (True, "", ())
    assert (gold.kind, gold.explanation) == (item["question_type"], "The boat was never mentioned.")
    assert history.questions[0].category is Category.ADVERSARIAL


def test_labels_never_reach_a_message() -> None:
    history = parse_record(ITEM, "file")
    assert "has_answer" not in repr(history.conversation)
    assert "15" not in repr(history.questions)


def test_private_keys_are_ignored() -> None:
    marked = [[{"role": "user", "content": "I like boats.", "_position_unknown": True}]]
    item = {**ITEM, **ONE_SESSION, "haystack_sessions": marked, "_completeness": ["partial"]}
    assert len(parse_record(item, "file").conversation.messages) == 1


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"haystack_dates": ITEM["haystack_dates"][:1]}, "3 session ids, 1 dates and 3 sessions"),
        ({"haystack_dates": ["20 May"] * 3}, "date '20 May'"),
        ({"question_type": "riddle"}, "question_type"),
        ({"haystack_sessions": [[{"role": "system", "content": "x"}], [], []]}, "role"),
        ({"answer": None}, "answer"),
    ],
)
def test_a_wrong_record_names_its_question(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps([ITEM, {**ITEM, **change, "question_id": "q-2"}]))
    with pytest.raises(DataError, match=r"s\.json, record 1 \(q-2\)") as caught:
        list(histories(file))
    assert complaint in str(caught.value)


def test_records_come_one_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "s.json"
    file.write_text(json.dumps([ITEM])[:-1] + ', {"broken": ')
    assert next(histories(file)).conversation.conversation_id == "q-1"
