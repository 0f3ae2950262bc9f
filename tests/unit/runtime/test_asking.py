"""The order of things inside one unit, with a method that writes down what is done to it."""

import asyncio
from dataclasses import replace

import pytest

from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import JudgingConfig, RunConfig
from memsif_ray.errors import ConfigError, RequestRefused, ServiceBusy
from memsif_ray.evaluation.protocol import question_order
from memsif_ray.methods.base import Tools
from memsif_ray.runtime.asking import GIVE_UP_AFTER, ask_in_order
from memsif_ray.runtime.contained import contained
from memsif_ray.runtime.grading import graded
from memsif_ray.types import CallScope, Category, Context, ContextItem, Gold, Question

CONFIG = RunConfig(seed=7)
QUESTIONS = tuple(Question(f"q{n}", "c", n, f"question {n}?", Category.SINGLE_HOP) for n in range(30))
ORDERED = [question.question_id for question in question_order(QUESTIONS, CONFIG.seed)]


class Counting:
    """A memory whose only fact is how many questions it has learned from."""

    name = "counting"

    def __init__(self):
        self.learned = 0
        self.log = []

    async def context(self, question):
        self.log.append(("context", question.question_id))
        seen = self.learned
        await asyncio.sleep(0)
        assert self.learned == seen, "a memory changed while it was read"
        return Context((ContextItem("n", "core", f"learned {seen}", ("D1:1",)),))

    async def learn(self, question, context):
        await asyncio.sleep(0)
        self.learned += 1
        self.log.append(("learn", question.question_id))


def tools_for(script=None):
    chat = ScriptedChat(script or (lambda request: "an answer"))
    tools = Tools(
        chat, HashEmbedder(), None, EstimatingCounter(), scope=CallScope("counting", "c"), seed=CONFIG.seed
    )
    return chat, tools


async def ask_all(method, tools, questions=QUESTIONS):
    return [one async for one in ask_in_order(method, questions, tools=tools, config=CONFIG)]


async def test_each_question_is_answered_and_learned_before_the_next_is_read():
    method, (_, tools) = Counting(), tools_for()
    asked = await ask_all(method, tools)
    assert method.log == [(step, qid) for qid in ORDERED for step in ("context", "learn")]
    assert [one.context.text for one in asked] == [f"learned {n}" for n in range(30)]
    assert [one.order for one in asked] == list(range(30))


async def test_the_order_depends_on_neither_file_order_nor_other_questions():
    method, (_, tools) = Counting(), tools_for()
    await ask_all(method, tools, tuple(reversed(QUESTIONS[:20])))
    read = [qid for step, qid in method.log if step == "context"]
    assert read == [qid for qid in ORDERED if int(qid[1:]) < 20]


async def test_an_answer_is_asked_for_with_the_configured_settings():
    chat, tools = tools_for()
    question = replace(QUESTIONS[0], text="When did </notes> it rain?")
    await ask_all(Counting(), tools, (question,))
    (request,) = chat.requests
    assert (request.stage, request.prompt_id) == ("answer", "answer")
    assert (request.temperature, request.max_tokens) == (CONFIG.answer_temperature, CONFIG.answer_max_tokens)
    assert request.scope == CallScope("counting", "c", "q0")
    assert "learned 0" in request.user
    assert request.user.count("</notes>") == 1


async def test_an_unusable_reply_is_an_answer_of_none_and_no_failure():
    method, (_, tools) = Counting(), tools_for(lambda request: None)
    asked = await ask_all(method, tools)
    assert all(one.answer.text is None and "no_content" in one.answer.error for one in asked)
    assert not any(one.failure for one in asked)
    assert method.learned == 30


async def test_one_refused_question_is_one_failed_row_that_teaches_nothing():
    refused = RequestRefused("too long", "context_length_exceeded")
    method, (_, tools) = (
        Counting(),
        tools_for(lambda request: refused if "question 3?" in request.user else "yes"),
    )
    asked = {one.question.question_id: one for one in await ask_all(method, tools)}
    assert asked["q3"].failure is refused
    assert "context_length_exceeded" in asked["q3"].answer.error
    assert sum(one.failure is not None for one in asked.values()) == 1
    assert ("learn", "q3") not in method.log
    assert method.learned == 29


@pytest.mark.parametrize("step", ["context", "learn"])
async def test_a_question_that_a_method_trips_over_is_a_failed_row_and_the_others_are_asked(step):
    class Tripping(Counting):
        async def context(self, question):
            return await self._trip("context", question) or await super().context(question)

        async def learn(self, question, context):
            await self._trip("learn", question) or await super().learn(question, context)

        async def _trip(self, now, question):
            if (now, question.question_id) == (step, "q3"):
                raise KeyError("text")

    asked = {one.question.question_id: one for one in await ask_all(Tripping(), tools_for()[1])}
    assert [qid for qid, one in asked.items() if one.failure] == ["q3"]
    assert asked["q3"].answer.error.startswith("MethodFault: KeyError: 'text' (test_asking.py, line ")
    assert (asked["q3"].answer.text is None) is (step == "context")
    assert sum(one.answer.text == "an answer" for one in asked.values()) == (29 if step == "context" else 30)


@pytest.mark.parametrize("end", [asyncio.CancelledError, KeyboardInterrupt])
def test_a_cancellation_and_ctrl_c_end_the_work(end):
    with pytest.raises(end), contained("counting"):
        raise end


async def test_a_dead_endpoint_is_not_asked_thirty_times():
    busy = ServiceBusy("no reply", "timeout")
    method, (chat, tools) = Counting(), tools_for(lambda request: busy)
    asked = await ask_all(method, tools)
    assert len(asked) == 30
    assert len(chat.requests) == GIVE_UP_AFTER
    assert all(one.failure is busy for one in asked)
    assert asked[-1].answer.error.startswith("not asked: ")
    assert asked[-1].answer.error.count("not asked") == 1


async def test_a_schema_that_the_server_refuses_stops_the_run():
    hopeless = RequestRefused("no json_schema here", "structured_output_refused")
    with pytest.raises(ConfigError, match="json_schema"):
        await ask_all(Counting(), tools_for(lambda request: hopeless)[1])


async def test_a_failed_answer_is_ungraded_and_so_is_one_whose_judge_fails():
    gold = Gold("q0", "rain", ("D1:1",))
    _, tools = tools_for()
    (good,) = await ask_all(Counting(), tools, QUESTIONS[:1])
    (bad,) = await ask_all(Counting(), tools_for(lambda request: ServiceBusy("gone"))[1], QUESTIONS[:1])
    right = ScriptedChat(lambda request: '{"label": "CORRECT"}')
    down = ScriptedChat(lambda request: ServiceBusy("gone"))

    assert (await graded(good, gold, judge=right, tools=tools, judging=JudgingConfig())).row[
        "outcome"
    ] == "right"
    ungraded = await graded(good, gold, judge=down, tools=tools, judging=JudgingConfig())
    assert (ungraded.row["outcome"], ungraded.failure) == (None, "ServiceBusy: gone")
    assert ungraded.row["reason"] == "ServiceBusy: gone"
    assert (await graded(bad, gold, judge=right, tools=tools, judging=JudgingConfig())).row["outcome"] is None
    assert (await graded(good, gold, judge=None, tools=tools, judging=JudgingConfig())).row["outcome"] is None


async def test_an_answer_that_taught_nothing_is_graded_all_the_same():
    class Forgetful(Counting):
        async def learn(self, question, context):
            raise KeyError("text")

    _, tools = tools_for()
    (asked,) = await ask_all(Forgetful(), tools, QUESTIONS[:1])
    right = ScriptedChat(lambda request: '{"label": "CORRECT"}')
    grade = await graded(
        asked, Gold("q0", "rain", ("D1:1",)), judge=right, tools=tools, judging=JudgingConfig()
    )
    assert asked.failure is not None and grade.row["outcome"] == "right"


async def test_cold_questions_teach_nothing_so_that_each_meets_the_memory_as_it_was_built():
    method, (_, tools) = Counting(), tools_for()
    config = CONFIG.model_copy(update={"state": "cold"})
    asked = [one async for one in ask_in_order(method, QUESTIONS, tools=tools, config=config)]
    assert {one.context.text for one in asked} == {"learned 0"}
    assert [step for step, _ in method.log] == ["context"] * 30


@pytest.mark.parametrize(("order", "differ"), [("fixed", False), ("per-run", True)])
async def test_runs_may_have_orders_of_their_own_and_the_first_has_the_fixed_one(order, differ):
    config = CONFIG.model_copy(update={"order": order})
    read = []
    for run in range(3):
        tools = replace(tools_for()[1], seed=CONFIG.seed + run)  # as a worker makes them
        asked = [one async for one in ask_in_order(Counting(), QUESTIONS, tools=tools, config=config)]
        read.append([one.question.question_id for one in asked])
    assert read[0] == ORDERED
    assert (len({tuple(ids) for ids in read}) == 3) is differ
    assert all(sorted(ids) == sorted(ORDERED) for ids in read)


class Knowing(Counting):
    async def answer(self, question, context):
        return f"I know: {context.text}"


async def test_a_method_that_answers_itself_is_not_answered_for():
    method, (chat, tools) = Knowing(), tools_for()
    asked = await ask_all(method, tools, QUESTIONS[:2])
    assert [one.answer.text for one in asked] == ["I know: learned 0", "I know: learned 1"]
    assert chat.requests == []
