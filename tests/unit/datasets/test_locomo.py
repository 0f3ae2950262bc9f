"""LoCoMo's layouts, answers and oddities (cases MC-14, MC-19, MC-42)."""

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from memsif_ray.datasets import History
from memsif_ray.datasets.locomo import histories, parse_session_date
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.text import is_blank
from memsif_ray.types import Category

QA = [
    {"question": "In which year did Ine start rowing?", "answer": 2022, "evidence": ["D1:1"], "category": 2},
    {"question": "How many cats has Ine?", "answer": 2, "evidence": ["D1:2"], "category": 1},
    {
        "question": "Which opera did Pim sing in?",
        "adversarial_answer": "a sea opera",
        "evidence": ["D1:3"],
        "category": 5,
    },
    {
        "question": "Is Rolf the dog of Pim?",
        "adversarial_answer": "Yes",
        "answer": "No",
        "evidence": ["D1:4"],
        "category": 5,
    },
    {"question": "When did Ine move?", "answer": " 23 July, 2023", "evidence": ["D1:5"], "category": 2},
]


def turn(turn_id: str, text: str, **more: Any) -> dict[str, Any]:
    return {"speaker": "Ine" if int(turn_id[-1]) % 2 else "Pim", "dia_id": turn_id, "text": text, **more}


def sessions(**more: Any) -> dict[str, Any]:
    return {
        "speaker_a": "Ine",
        "speaker_b": "Pim",
        "session_1_date_time": "9:00 am on 2 May, 2023",
        "session_1": [turn(f"D1:{n}", f"text {n}") for n in range(1, 6)],
        **more,
    }


def flat_history(folder: Path, record: dict[str, Any]) -> History:
    file = folder / "26.json"
    file.write_text(json.dumps(record))
    (history,) = histories(file)
    return history


@pytest.mark.parametrize(
    ("text", "moment"),
    [
        ("12:09 am on 1 January, 2024", datetime(2024, 1, 1, 0, 9)),
        ("12:30 pm on 1 January, 2024", datetime(2024, 1, 1, 12, 30)),
        ("1:56 pm on 8 May, 2023", datetime(2023, 5, 8, 13, 56)),
    ],
)
def test_session_dates_use_a_12_hour_clock(text: str, moment: datetime) -> None:
    assert parse_session_date(text) == moment


def test_both_layouts_give_the_same_content(tmp_path: Path) -> None:
    flat = flat_history(tmp_path, {**sessions(), "qa": QA})
    official = tmp_path / "official.json"
    official.write_text(json.dumps([{"sample_id": "26", "conversation": sessions(), "qa": QA}]))
    assert list(histories(official)) == [flat]


def test_a_folder_is_read_in_name_order(tmp_path: Path) -> None:
    for name in ("41", "26"):
        (tmp_path / f"{name}.json").write_text(json.dumps({**sessions(), "qa": []}))
    assert [history.conversation.conversation_id for history in histories(tmp_path)] == ["26", "41"]


def test_answers_are_stripped_text_and_traps_are_not_gold(tmp_path: Path) -> None:
    history = flat_history(tmp_path, {**sessions(), "qa": QA})
    gold = [history.gold[f"26_q{index}"] for index in range(5)]
    assert [(one.answer, one.trap, one.abstain) for one in gold] == [
        ("2022", None, False),
        ("2", None, False),
        ("", "a sea opera", True),
        ("No", "Yes", False),
        ("23 July, 2023", None, False),
    ]
    assert [question.category for question in history.questions] == [
        Category.TEMPORAL,
        Category.MULTI_HOP,
        Category.ADVERSARIAL,
        Category.ADVERSARIAL,
        Category.TEMPORAL,
    ]
    assert history.counts["integer_answers"] == 2


def test_no_trap_and_no_gold_in_what_a_method_sees(tmp_path: Path) -> None:
    history = flat_history(tmp_path, {**sessions(), "qa": QA})
    assert "sea opera" not in repr((history.conversation, history.questions))


def test_the_same_question_twice_stays_two_questions(tmp_path: Path) -> None:
    history = flat_history(tmp_path, {**sessions(), "qa": [QA[0], {**QA[0], "answer": "2021"}]})
    assert [history.gold[question.question_id].answer for question in history.questions] == ["2022", "2021"]


def test_blank_messages_keep_their_place(tmp_path: Path) -> None:
    session = [
        turn("D1:1", "Hello Uma"),
        turn("D1:2", ""),
        turn("D1:3", " \n\t\u00a0"),
        turn("D1:4", "", blip_caption="a photo of a tandem", img_url=["http://example.invalid/a.jpg"]),
        turn("D1:5", "\u200b"),
        turn("D1:6", "Bye"),
    ]
    empty = {"session_2_date_time": "9:00 am on 3 May, 2023", "session_2": []}
    history = flat_history(tmp_path, sessions(session_1=session, **empty))
    messages = history.conversation.messages
    assert [message.message_id for message in messages] == [f"D1:{n}" for n in range(1, 7)]
    assert [message.position for message in messages] == list(range(6))
    assert [m.message_id for m in messages if not is_blank(m.content)] == ["D1:1", "D1:4", "D1:6"]
    assert messages[3].content == "[shares a photo: a photo of a tandem]"
    assert (history.counts["sessions"], history.counts["empty_sessions"]) == (2, 1)


def test_an_empty_conversation_is_no_error(tmp_path: Path) -> None:
    history = flat_history(tmp_path, {"speaker_a": "Ine", "speaker_b": "Pim"})
    assert history.conversation.messages == history.questions == ()


def test_a_date_without_a_session_is_ignored(tmp_path: Path) -> None:
    history = flat_history(tmp_path, sessions(session_20_date_time="9:00 am on 4 May, 2023"))
    assert {message.session for message in history.conversation.messages} == {1}
    assert history.counts["dates_without_session"] == 1


def test_sessions_follow_their_numbers(tmp_path: Path) -> None:
    later = {f"session_{n}": [turn(f"D{n}:1", "x")] for n in (10, 2)}
    dates = {f"session_{n}_date_time": "9:00 am on 4 May, 2023" for n in (10, 2)}
    messages = flat_history(tmp_path, {**later, **dates, **sessions()}).conversation.messages
    assert [message.message_id for message in messages][-2:] == ["D2:1", "D10:1"]


def test_bad_characters_refuse_no_file(tmp_path: Path) -> None:
    session = [
        turn("D1:1", "half \ud83d end"),
        turn("D1:2", "nul\0inside \ud83c\udf78"),
        turn("D1:3", "plain"),
    ]
    texts = [m.text for m in flat_history(tmp_path, sessions(session_1=session)).conversation.messages]
    assert texts == ["half \ufffd end", "nulinside \U0001f378", "plain"]


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"session_1_date_time": "yesterday"}, "session 1: date 'yesterday'"),
        ({"session_2": [turn("D2:1", "x")]}, "session 2: has turns but no date"),
        ({"session_1": [turn("D1:1", "x"), turn("D1:1", "y")]}, "dia_id D1:1 is used more than once"),
        ({"session_1": "none"}, "turns.1"),
        ({"speaker_b": None}, "speaker_b"),
        ({"qa": [{"question": "x", "category": 4}]}, "question 0: no answer"),
        ({"qa": [{"question": "x", "answer": "y", "category": 6}]}, "question 0: category"),
    ],
)
def test_a_wrong_record_is_named(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    with pytest.raises(DataError, match=r"26\.json, record 0") as caught:
        flat_history(tmp_path, sessions(**change))
    assert complaint in str(caught.value)


@pytest.mark.parametrize("content", ["version https://git-lfs.github.com", "[{} {}]", "[{", "{} {}", "[1]"])
def test_what_is_no_list_of_records_is_named(tmp_path: Path, content: str) -> None:
    file = tmp_path / "broken.json"
    file.write_text(content)
    with pytest.raises(DataError, match="broken.json"):
        list(histories(file))


def test_a_missing_file_is_the_callers_mistake(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no data at"):
        list(histories(tmp_path / "absent.json"))
    with pytest.raises(ConfigError, match="no data at"):
        list(histories(tmp_path))
