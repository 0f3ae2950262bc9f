"""A token budget between retrieval and answer, inside the online order."""

from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import PackingConfig, RunConfig
from memsif_ray.memory.tools import Tools
from memsif_ray.runtime.asking import ask_in_order
from memsif_ray.runtime.rows import Session
from memsif_ray.runtime.units import Unit
from memsif_ray.types import CallScope, Category, Context, ContextItem, Gold, Question

QUESTIONS = tuple(Question(f"q{n}", "c", n, f"question {n}?", Category.SINGLE_HOP) for n in range(3))
LINES = tuple(
    ContextItem(f"m{n}", "message", f"line {n} says a few words", (f"m{n}",), score=n) for n in range(9)
)


class Remembering:
    """A memory that always shows the same lines, and keeps what it is told to learn from."""

    name = "remembering"

    def __init__(self):
        self.learned = []

    async def context(self, question):
        return Context(LINES)

    async def learn(self, question, context):
        self.learned.append(context)


async def ask(packing, script=lambda request: "an answer"):
    chat, method = ScriptedChat(script), Remembering()
    tools = Tools(chat, HashEmbedder(), None, EstimatingCounter(), scope=CallScope("remembering", "c"))
    config = RunConfig(packing=packing)
    asked = [one async for one in ask_in_order(method, QUESTIONS, tools=tools, config=config)]
    return asked, chat, method, tools


async def test_the_answer_prompt_shows_no_more_than_the_budget_and_memory_learns_as_before():
    asked, chat, method, _ = await ask(PackingConfig(budget=20))
    assert all(EstimatingCounter().count(one.context.text) <= 20 for one in asked)
    assert all(one.context.items[-1].item_id == "m8" for one in asked)
    assert all("line 8" in request.user and "line 0" not in request.user for request in chat.requests)
    assert [len(context.items) for context in method.learned] == [9, 9, 9]


async def test_calls_of_packing_are_metered_on_behalf_of_the_question():
    _, chat, _, _ = await ask(PackingConfig(budget=20, policy="abstract"))
    stages = [(request.stage, request.scope.question_id) for request in chat.requests]
    order = [question for _, question in stages[::2]]
    assert stages == [(stage, q) for q in order for stage in ("pack_abstract", "answer")]


async def test_a_session_has_a_packing_row_per_question_only_with_a_budget():
    gold = {question.question_id: Gold(question.question_id, "x") for question in QUESTIONS}
    for packing, rows in ((PackingConfig(budget=20, policy="merge"), 3), (PackingConfig(), 0)):
        asked, _, _, tools = await ask(packing)
        session = Session(asked, [], {})
        tables = session.tables(Unit("remembering", "c", 0), gold=gold, tokens=tools.tokens)
        (table,) = tables["packings"]
        assert table.num_rows == rows
    assert {row["action"] for row in table.to_pylist()} == set()
