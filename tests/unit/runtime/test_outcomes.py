"""Outcomes of packing actions under a judge: what its verdicts are worth, and what becomes of none."""

import json

import pytest

from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import JudgingConfig, LabellingConfig, RunConfig
from memsif_ray.errors import ServiceError
from memsif_ray.memory.tools import Tools
from memsif_ray.packing.actions import ACTIONS
from memsif_ray.packing.operators import shown
from memsif_ray.runtime.outcomes import Case, outcomes
from memsif_ray.runtime.toolbox import Bench
from memsif_ray.types import CallScope, Category, ContextItem, Gold, Question

QUESTION = Question("q1", "c1", 0, "What does Comet chase?", Category.SINGLE_HOP)
GOLD = Gold("q1", "the ginger tomcat", ("D1:1",))
NOTES = shown(
    [
        ContextItem("m1", "message", "Ann: Comet chased a cat through the park.", ("D1:1",)),
        ContextItem("m2", "message", "Bo: My sister moved to Ghent in March.", ("D1:2",)),
    ]
)
BUDGETS, REALISATIONS = (16, 64), 2


def model(request):
    """Answers rightly from what a model has written, and wrongly from the notes as they are."""
    if request.stage != "answer":
        return "Comet is fond of chases."
    return "a cat" if "fond of chases" in request.user else "a car"


def says(label):
    return lambda request: json.dumps({"label": label})


def likes_cats(request):
    return json.dumps({"label": "CORRECT" if "a cat" in request.user else "WRONG"})


async def labelled(judge, *, script=model, **judging):
    chat, judging_chat = ScriptedChat(script), ScriptedChat(judge)
    scope = CallScope("oas-label", "c1", "q1")
    tools = Tools(chat, HashEmbedder(), None, EstimatingCounter(), scope=scope)
    config = RunConfig(
        labelling=LabellingConfig(utility="judge", realisations=REALISATIONS, budgets=BUDGETS),
        judging=JudgingConfig(**judging),
    )
    found = await outcomes(
        Case(QUESTION, GOLD, NOTES), bench=Bench(tools, judging_chat), config=config, budgets=BUDGETS
    )
    assert len(found.labels) == len(BUDGETS) * REALISATIONS * len(ACTIONS)
    return found, chat, judging_chat


async def test_what_the_judge_says_is_the_utility_of_each_answer():
    found, _, _ = await labelled(likes_cats)
    assert {(row["answer"], row["utility"]) for row in found.labels} == {("a cat", 1.0), ("a car", 0.0)}
    assert {row["grader"] for row in found.labels} == {JudgingConfig().label}
    assert (found.failed, {row["error"] for row in found.labels}) == (0, {""})


async def test_the_label_names_the_profile_that_graded():
    found, _, judge = await labelled(says("CORRECT"), profile="lenient")
    assert {row["grader"] for row in found.labels} == {JudgingConfig(profile="lenient").label}
    assert {request.prompt_id for request in judge.requests} == {"judges/lenient"}


async def test_an_answer_that_several_actions_gave_is_judged_once_and_paid_for_by_none():
    found, chat, judge = await labelled(likes_cats)
    assert len(judge.requests) == 2
    assert {row["action"]: row["calls"] for row in found.labels}["retain"] == 1
    assert all(row["calls"] <= len(chat.requests) for row in found.labels)


async def test_the_majority_of_votes_counts():
    votes = iter(["CORRECT", "WRONG", "CORRECT"] * 2)
    found, _, judge = await labelled(lambda request: says(next(votes))(request), votes=3)
    assert {row["utility"] for row in found.labels} == {1.0}
    assert len(judge.requests) == 2 * 3


async def test_a_judge_that_cannot_be_understood_leaves_no_utility_and_says_why():
    found, _, _ = await labelled(lambda request: "Well, it depends.")
    assert {row["utility"] for row in found.labels} == {None}
    assert all("unreadable" in row["error"] for row in found.labels)
    assert {row["answer"] for row in found.labels} == {"a cat", "a car"}
    assert found.failed == 0  # asking again would bring the same reply


async def test_a_judge_that_fails_keeps_the_answer_and_the_row_is_tried_again():
    found, _, _ = await labelled(lambda request: ServiceError("judge is down", "http"))
    assert {(row["answer"], row["utility"]) for row in found.labels} == {("a cat", None), ("a car", None)}
    assert found.failed == len(found.labels)
    assert "judge is down" in found.reason


@pytest.mark.parametrize("answer", ["", None])
async def test_no_answer_is_wrong_and_no_judge_is_asked(answer):
    found, _, judge = await labelled(says("CORRECT"), script=lambda r: answer if r.stage == "answer" else "x")
    assert {row["utility"] for row in found.labels} == {0.0}
    assert judge.requests == []


async def test_only_the_judge_sees_the_reference():
    _, chat, judge = await labelled(likes_cats)
    assert all("ginger tomcat" in request.user for request in judge.requests)
    assert not any("ginger tomcat" in request.system + request.user for request in chat.requests)
    assert {request.scope for request in judge.requests} == {CallScope("oas-label", "c1", "q1")}
