"""The bundled histories are checkable: evidence exists, literal answers stand in it, dates fit."""

import json
from collections import Counter

import pytest

from memsif_ray.config import DataConfig
from memsif_ray.datasets import Dataset, load
from memsif_ray.datasets.sample import FOLDER
from memsif_ray.text import is_blank, searchable
from memsif_ray.types import Category, Message


@pytest.fixture(scope="module")
def sample() -> Dataset:
    return load(DataConfig())


@pytest.fixture(scope="module")
def messages(sample: Dataset) -> dict[tuple[str, str], Message]:
    return {
        (message.conversation_id, message.message_id): message
        for conversation in sample.conversations
        for message in conversation.messages
    }


def test_shape(sample: Dataset) -> None:
    for conversation in sample.conversations:
        sizes = Counter(message.session for message in conversation.messages)
        assert 6 <= len(sizes) <= 8
        assert all(8 <= size <= 16 for size in sizes.values())
        assert conversation.dataset == "sample"
        questions = [q for q in sample.questions if q.conversation_id == conversation.conversation_id]
        assert [question.index for question in questions] == list(range(len(questions)))
        assert {question.category for question in questions} == set(Category)
        assert 12 <= sum(question.category is not Category.ADVERSARIAL for question in questions) <= 16


def test_every_message_says_something_and_time_moves_on(sample: Dataset) -> None:
    for conversation in sample.conversations:
        assert not any(is_blank(message.text) for message in conversation.messages)
        times = [message.timestamp for message in conversation.messages]
        assert times == sorted(times)
        assert (times[-1] - times[0]).days > 100


def test_every_evidence_entry_is_an_existing_id() -> None:
    report = load(DataConfig()).report
    assert report.repairs == ()
    assert report.counts["evidence_items"] == report.counts["evidence_resolved"]
    shared = json.loads((FOLDER / "assistant.json").read_text(encoding="utf-8"))
    known = {
        f"{session_id}:{index}"
        for session_id, turns in zip(shared["haystack_session_ids"], shared["haystack_sessions"], strict=True)
        for index in range(1, len(turns) + 1)
    }
    assert all(set(question["evidence"]) <= known for question in shared["questions"])


def test_every_question_but_abstentions_of_the_assistant_has_evidence(sample: Dataset) -> None:
    bare = [gold.question_id for gold in sample.gold.values() if not gold.evidence]
    assert all(question_id.endswith("_abs") for question_id in bare)
    assert len(bare) == 2


def test_literal_answers_stand_in_their_evidence(
    sample: Dataset, messages: dict[tuple[str, str], Message]
) -> None:
    literal = [
        question
        for question in sample.questions
        if question.category is Category.SINGLE_HOP and question.question_id not in ("vera_05", "vera_06")
    ]  # those two ask for advice that respects a preference
    assert len(literal) >= 14
    for question in literal:
        gold = sample.gold[question.question_id]
        said = " ".join(messages[question.conversation_id, name].content for name in gold.evidence)
        assert searchable(gold.answer) in searchable(said), question.question_id


def test_traps_stand_in_the_history_or_are_yes(
    sample: Dataset, messages: dict[tuple[str, str], Message]
) -> None:
    for question in sample.questions:
        trap = sample.gold[question.question_id].trap
        if trap in (None, "Yes"):
            continue
        said = " ".join(m.content for (owner, _), m in messages.items() if owner == question.conversation_id)
        assert searchable(trap.removesuffix(" 2024")) in searchable(said), question.question_id


def test_multi_hop_questions_need_several_messages(sample: Dataset) -> None:
    for question in sample.questions:
        if question.category is Category.MULTI_HOP:
            assert len(sample.gold[question.question_id].evidence) >= 2, question.question_id
