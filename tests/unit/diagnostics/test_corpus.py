"""Statistics of a dataset, by hand and on the released file."""

from datetime import datetime

import pytest

from memsif_ray.clients.cl100k import Cl100kCounter
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import DataConfig
from memsif_ray.datasets import Dataset, LoadReport, load
from memsif_ray.diagnostics.corpus import Extent, history_statistics, summarise
from memsif_ray.types import Category, Conversation, Gold, Message, Question


def conversation(name, *said):
    """Messages as (session, date, text)."""
    return Conversation(
        name,
        "locomo",
        ("Ann",),
        tuple(
            Message(name, f"m{i}", i, session, "Ann", text, date, caption="a boat")
            for i, (session, date, text) in enumerate(said)
        ),
    )


@pytest.fixture
def dataset():
    conversations = (
        conversation(
            "long",
            (1, datetime(2024, 1, 1, 12), "twelve chars"),
            (2, datetime(2024, 1, 3, 11), " "),
            (2, datetime(2024, 1, 3, 11), "four"),
        ),
        conversation("short", (3, datetime(2024, 5, 1), "twelve chars")),
        conversation("empty"),
        conversation("unasked", (1, datetime(2024, 5, 1), "never counted")),
    )
    asked = [("long", Category.TEMPORAL), ("long", Category.ADVERSARIAL), ("short", Category.TEMPORAL)]
    asked += [("empty", Category.SINGLE_HOP), ("unasked", Category.ADVERSARIAL)]
    questions = tuple(Question(f"q{n}", name, 0, "?", kind) for n, (name, kind) in enumerate(asked))
    gold = {question.question_id: Gold(question.question_id, "x") for question in questions}
    return Dataset("locomo", conversations, questions, gold, {}, LoadReport("", "", "", None, {}, {}, ()))


def test_each_conversation_is_counted(dataset):
    long, _, empty, _ = history_statistics(dataset, EstimatingCounter())
    assert (long.messages, long.sessions, long.questions) == (3, 2, 1)
    assert long.days == 1  # 47 hours
    assert long.tokens == EstimatingCounter().count("twelve chars") + EstimatingCounter().count("four") + (
        EstimatingCounter().count(" ")
    )
    assert (empty.days, empty.first, empty.tokens, empty.reason) == (None, None, 0, "no_messages")


def test_the_summary_leaves_out_who_is_not_asked(dataset):
    summary = summarise(dataset, history_statistics(dataset, EstimatingCounter()))
    assert (summary.conversations, summary.left_out, summary.questions) == (3, 1, 3)
    assert summary.sessions == Extent(1.0, 0, 2)
    assert summary.days == Extent(0.5, 0, 1)
    assert {c.value: n for c, n in summary.categories.items()} == {
        "S-hop": 1,
        "M-hop": 0,
        "Temp": 2,
        "Kno": 0,
    }


def test_nothing_has_no_mean(dataset):
    assert summarise(dataset, []).tokens == Extent(None, None, None)


def test_cl100k_counts_without_a_network():
    counter = Cl100kCounter()
    assert counter.count("tiktoken is great!") == 6  # the example of OpenAI's cookbook
    assert counter.count("") == 0
    assert counter.count("<|endoftext|>") > 1


def test_the_released_file_gives_the_papers_table(data_dir):
    file = data_dir / "locomo" / "locomo10.json"
    if not file.is_file():
        pytest.skip(f"no {file}")
    dataset = load(DataConfig(dataset="locomo", path=file))
    summary = summarise(dataset, history_statistics(dataset, Cl100kCounter()))
    assert f"{summary.tokens.mean:.0f}" == "16641"
    assert (f"{summary.sessions.mean:.1f}", summary.sessions.low, summary.sessions.high) == ("27.2", 19, 32)
    assert list(summary.categories.values()) == [841, 282, 321, 96]
    assert summary.days.high == 293  # the least and the mean are lower: one file has dates without sessions
