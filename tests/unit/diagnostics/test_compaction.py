from collections import Counter

import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.diagnostics.compaction import Answering, Case, GoldFact, examine, retained
from memsif_ray.memory.tools import Tools
from memsif_ray.types import Category, Question


def facts(*saliences):
    return tuple(GoldFact(f"m{n}", f"line {n}", s) for n, s in enumerate(saliences))


def names(kept):
    return None if kept is None else [fact.message_id for fact in kept]


@pytest.mark.parametrize(
    ("saliences", "capacity", "kept"),
    [
        ((1, 2, 3), None, ["m0", "m1", "m2"]),
        ((1, 2, 3), 2, ["m1", "m2"]),  # in the order in which they were said
        ((3, 1, 3, 3), 2, ["m0", "m2"]),  # of equals the earlier
        ((1, 2), 2, ["m0", "m1"]),
        ((None, 2), 2, ["m0", "m1"]),  # nothing has to go
        ((None, 2, 3), 2, None),
    ],
)
def test_the_most_salient_are_kept(saliences, capacity, kept):
    assert names(retained(facts(*saliences), capacity)) == kept


def judge(request):
    """Finds a fact in full where its line is in the memory, and every answer right that is one."""
    if request.stage == "answer":
        return "an answer"
    if request.stage == "correctness":
        return '{"label": "CORRECT"}'
    memory, fact = request.user.split("</memory>")
    line = fact.split("<reference>")[1].split("</reference>")[0]
    return f'{{"label": "{"FULL" if line in memory else "NONE"}"}}'


async def examined(case, script=judge):
    chat = ScriptedChat(script)
    tools = Tools(chat, HashEmbedder(), RuleEntities(), EstimatingCounter())
    return *await examine(case, tools=tools, judge=chat, answering=Answering(64, 0.1)), chat


QUESTION = Question("q1", "c1", 0, "What?", Category.SINGLE_HOP)


async def test_every_memory_is_judged_and_equal_ones_once():
    recoveries, answers, chat = await examined(Case(QUESTION, "it", facts(1, 3, 2)))
    labels = {(one.capacity, one.message_id): one.label for one in recoveries}
    assert labels[None, "m0"] == labels[4, "m0"] == "FULL" and labels[2, "m0"] == "NONE"
    assert [(one.capacity, one.kept, one.dropped) for one in answers] == [
        (None, ("m0", "m1", "m2"), 0),
        (2, ("m1", "m2"), 1),
        (4, ("m0", "m1", "m2"), 0),
        (8, ("m0", "m1", "m2"), 0),
    ]
    # Two different memories: three facts by three votes each, an answer, and its grade by three votes.
    assert Counter(request.stage for request in chat.requests) == {
        "recovery": 18,
        "answer": 2,
        "correctness": 6,
    }


async def test_votes_see_the_memory_in_other_orders():
    _, _, chat = await examined(Case(QUESTION, "it", facts(1, 3, 2)))
    orders = {request.user.split("</memory>")[0] for request in chat.requests[:3]}
    assert len(orders) > 1
    assert len({"".join(sorted(order)) for order in orders}) == 1


async def test_what_cannot_be_ranked_or_answered_is_missing():
    def silent(request):
        return None if request.stage == "answer" else judge(request)

    recoveries, answers, _ = await examined(Case(QUESTION, "it", facts(None, 3, 2)), silent)
    by_capacity = {one.capacity: one for one in answers}
    assert (by_capacity[2].label, by_capacity[2].reason) == (None, "salience_missing")
    assert {one.reason for one in recoveries if one.capacity == 2} == {"salience_missing"}
    assert (by_capacity[4].label, by_capacity[4].reason) == (None, "no_answer: no_content")
    assert {one.label for one in recoveries if one.capacity == 4} == {"FULL"}
