"""What each prompt of the diagnoses may see, checked on what is really sent."""

import json
from datetime import datetime

import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.diagnostics.compaction import Answering, Case, GoldFact, examine
from memsif_ray.diagnostics.scoring import Score, local, salience, utility
from memsif_ray.memory.tools import Tools
from memsif_ray.types import CallScope, Category, Message, Question

QUESTION, ANSWER, EARLIER, LATER = "canary-question", "canary-answer", "canary-earlier", "canary-later"
SAID = (EARLIER, "the first before", "", "the second before", "the utterance", LATER)
MESSAGES = tuple(
    Message("c1", f"D1:{n}", n, 1, "AB"[n % 2], text, datetime(2023, 5, 8)) for n, text in enumerate(SAID)
)
SHOWN = local(MESSAGES, 4)
HOW = {"scope": CallScope(), "seed": 7}


def sent(chat):
    return "\n".join(f"{r.system}\n{r.user}\n{json.dumps(r.schema)}\n{r.prompt_id}" for r in chat.requests)


def test_an_utterance_comes_with_the_two_that_say_something_before_it():
    assert (SHOWN.before, SHOWN.utterance) == (
        ("B: the first before", "B: the second before"),
        "A: the utterance",
    )
    assert local(MESSAGES, 0).before == ()


async def test_salience_sees_neither_question_nor_answer_nor_more_of_the_conversation():
    chat = ScriptedChat()
    await salience(SHOWN, scorer=chat, **HOW)
    text = sent(chat)
    assert all(line in text for line in (*SHOWN.before, SHOWN.utterance))
    assert "canary" not in text and "<question>" not in text


async def test_utility_sees_the_question_but_no_answer():
    chat = ScriptedChat()
    await utility(SHOWN, QUESTION, scorer=chat, **HOW)
    text = sent(chat)
    assert QUESTION in text and SHOWN.utterance in text
    assert text.count("canary") == 1


async def test_only_the_grade_of_an_answer_sees_the_reference():
    chat = ScriptedChat(
        lambda request: "canary-candidate" if request.schema is None else '{"label": "PARTIAL"}'
    )
    question = Question("q1", "c1", 0, QUESTION, Category.TEMPORAL)
    facts = (GoldFact("D1:1", "a fact", 1), GoldFact("D1:2", "another", 3), GoldFact("D1:3", "a third", 2))
    tools = Tools(chat, HashEmbedder(), RuleEntities(), EstimatingCounter())
    await examine(Case(question, ANSWER, facts), tools=tools, judge=chat, answering=Answering(64, 0.1))
    seen = {request.stage for request in chat.requests if ANSWER in request.user + request.system}
    assert seen == {"correctness"}
    for request in chat.requests:
        assert not any(word in request.user for word in ("salience", "c = ", "raw", "D1:"))
        if request.stage == "recovery":
            assert "canary-candidate" not in request.user


@pytest.mark.parametrize(("said", "value"), [("SKIP", 1), ("MAYBE", 2), ("keep ", 3)])
async def test_labels_are_scores(said, value):
    chat = ScriptedChat(lambda request: json.dumps({"label": said}))
    assert await salience(SHOWN, scorer=chat, **HOW) == Score(value)
    (request,) = chat.requests
    assert (request.temperature, request.seed) == (0.1, 7)


@pytest.mark.parametrize(
    ("said", "reason"),
    [("3", "wrong_shape"), (None, "no_content"), ('{"label": "MUST"}', "unknown_value"), ("hm", "not_json")],
)
async def test_a_score_that_cannot_be_read_is_missing(said, reason):
    chat = ScriptedChat(lambda request: said)
    assert await utility(SHOWN, QUESTION, scorer=chat, **HOW) == Score(None, f"unreadable: {reason}")
    assert len(chat.requests) == 2
