"""What every compared system must keep to, whoever wrote it: each one is driven here as a run drives it."""

from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat, reasonable
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import PackingConfig, RunConfig
from memsif_ray.methods import METHODS, make_method
from memsif_ray.methods.about import about
from memsif_ray.methods.base import AnswersItself, SeesEvidence, Tools
from memsif_ray.packing.policy import within_budget
from memsif_ray.storage.memories import KINDS, added, encode_memory
from memsif_ray.storage.tables import decode
from memsif_ray.types import Category, Conversation, Message, Question

ELSEWHERE = {"mem0-official", "lightmem"}
"""Need a package or weights that may be absent; driven by tests of their own, which are skipped then."""
NAMES = [name for name in METHODS if name not in ELSEWHERE]

LINES = (
    ("Ann", "I adopted a greyhound called Comet yesterday."),
    ("Bo", "Lovely! Does Comet like the rain?"),
    ("Ann", "He hates the rain, and he sleeps all day."),
    ("Bo", "I started pottery classes in Hangzhou last week."),
    ("Ann", ""),
    ("Bo", "My pottery teacher is called Wim."),
    ("Ann", "Comet chased a cat through the park today!"),
    ("Bo", "My sister Uma moved to Ghent in March."),
)
SMALL = Conversation(
    "c1",
    "locomo",
    ("Ann", "Bo"),
    tuple(
        Message(
            "c1", f"D{1 + n // 3}:{n}", n, 1 + n // 3, speaker, text, datetime(2024, 2, 1 + 7 * (n // 3), 9)
        )
        for n, (speaker, text) in enumerate(LINES)
    ),
)
EMPTY = Conversation("c1", "locomo", ("Ann", "Bo"), ())
BLANK = replace(EMPTY, messages=tuple(replace(m, text=" ") for m in SMALL.messages[:2]))
GOLD = {"q0": ("D3:6",), "q1": ("D2:5",), "q2": ()}
QUESTIONS = tuple(
    Question(f"q{n}", "c1", n, text, Category.SINGLE_HOP, datetime(2024, 3, 1))
    for n, text in enumerate(("What did Comet chase?", "Who teaches Bo pottery?", "Whom did Uma marry?"))
)
BUDGET = 60
CONFIG = RunConfig.model_validate({"memory": {"retrieval": {"context_tokens": BUDGET}}})


def tools_for(script=None):
    return Tools(ScriptedChat(script), HashEmbedder(), RuleEntities(), EstimatingCounter(), seed=1)


def remembering(request):
    """Replies from which every method remembers something; `reasonable` ones name no event and no source."""
    match request.prompt_id:
        case "mem0/update":
            return (
                '{"actions": [{"event": "ADD", "id": 0, "text": "Comet is a greyhound who hates the rain."}]}'
            )
        case "lightmem/extract":
            return '{"facts": [{"source": 1, "fact": "Comet is a greyhound who hates the rain."}]}'
    return reasonable(request)


def made(name, tools):
    method = make_method(name, CONFIG, tools)
    if isinstance(method, SeesEvidence):
        method.see_evidence(GOLD)
    return method


async def built(name, conversation, tools):
    method = made(name, tools)
    await method.ingest(conversation)
    return method


def stored(method, name):
    """A dump as a run stores and reads it: every table there, whether it has rows or not."""
    parts = encode_memory(method.dump(), method=name, conversation_id="c1", run=None)
    return {
        table: [value for part in parts.get(table, ()) for value in decode(part, kind)]
        for table, kind in KINDS.items()
    }


def plain(tables):
    with np.printoptions(threshold=100_000):
        return {name: [repr(value) for value in rows] for name, rows in tables.items() if len(rows)}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("conversation", [SMALL, EMPTY, BLANK], ids=["small", "empty", "blank"])
async def test_a_context_stays_within_its_budget_and_names_messages_that_exist(name, conversation):
    tools = tools_for()
    method = await built(name, conversation, tools)
    known = {m.message_id for m in conversation.messages}
    for question in (*QUESTIONS, replace(QUESTIONS[0], question_id="q9", text=" ")):
        context = await method.context(question)
        assert context.message_ids | set(context.retrieved_ids) <= known
        used = sum(tools.tokens.count(f"{item.text}\n") for item in context.items)
        assert used <= (CONFIG.model.context_window if name.startswith("full-context") else BUDGET)
        await method.learn(question, context)
    encode_memory(method.dump(), method=name, conversation_id="c1", run=0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("budget", [10, 50])
async def test_what_an_answer_reads_keeps_the_equal_budget_of_all_methods(name, budget):
    tools = tools_for(remembering)
    method = await built(name, SMALL, tools)
    config, offered, kept = PackingConfig(budget=budget), [], []
    for question in QUESTIONS:
        found = await method.context(question)
        shown, packing = await within_budget(found, question, config=config, router=None, tools=tools)
        assert tools.tokens.count(shown.text) == packing.tokens <= budget
        assert {item.text for item in shown.items} <= {item.text for item in found.items}
        offered.append(tools.tokens.count(found.text))
        kept.append(packing.tokens)
        await method.learn(question, found)
    if name != "abstain":  # the small budget cuts what each method offers, the other leaves some of it
        assert max(offered) > 10 and (budget < 50 or max(kept) > 0)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("conversation", [SMALL, EMPTY, BLANK], ids=["small", "empty", "blank"])
async def test_a_memory_that_was_stored_and_loaded_answers_alike_and_asks_no_model(name, conversation):
    tools = tools_for()
    first = await built(name, conversation, tools)
    silent = tools_for(lambda request: AssertionError("loading must not ask a model"))
    again = made(name, silent)
    await again.load(conversation, stored(first, name))
    assert silent.chat.requests == []
    assert plain(stored(again, name)) == plain(stored(first, name))
    both = (first, made(name, tools))
    await both[1].load(conversation, stored(first, name))
    for question in QUESTIONS:
        one, other = [await method.context(question) for method in both]
        assert repr(one) == repr(other)
        for method in both:
            await method.learn(question, one)
    assert plain(stored(both[1], name)) == plain(stored(first, name))


@pytest.mark.parametrize("name", NAMES)
async def test_reading_changes_nothing_and_learning_only_adds_at_the_end(name):
    """Else a cold memory, which never learns, would not be cold, and what was learned could not be told."""
    method = await built(name, SMALL, tools_for())
    before, first = stored(method, name), await method.context(QUESTIONS[0])
    await method.context(QUESTIONS[1])
    assert repr(await method.context(QUESTIONS[0])) == repr(first)
    assert plain(stored(method, name)) == plain(before)
    for question in QUESTIONS:
        await method.learn(question, await method.context(question))
    after = stored(method, name)
    for table, rows in before.items():
        if table != "clusters":  # the one table whose rows are replaced: candidates, all of them learned
            assert plain({table: after[table][: len(rows)]}) == plain({table: rows})
    assert set(added(before, after)) == set(KINDS)


@pytest.mark.parametrize("name", NAMES)
async def test_the_same_replies_build_the_same_memory(name):
    one, other = [await built(name, SMALL, tools_for()) for _ in range(2)]
    assert plain(stored(one, name)) == plain(stored(other, name))


@pytest.mark.parametrize("name", NAMES)
async def test_every_call_says_on_whose_behalf_and_why(name):
    tools = tools_for()
    method = await built(name, SMALL, tools)
    assert all(request.stage and request.prompt_id for request in tools.chat.requests)
    assert {request.scope.question_id for request in tools.chat.requests} <= {""}
    tools.chat.requests.clear()
    await method.context(QUESTIONS[1])
    assert {request.scope.question_id for request in tools.chat.requests} <= {"q1"}


@pytest.mark.parametrize("name", NAMES)
async def test_replies_that_cannot_be_used_cost_neither_the_memory_nor_an_answer(name):
    method = await built(name, SMALL, tools_for(lambda request: "no { JSON" if request.schema else ""))
    context = await method.context(QUESTIONS[0])
    await method.learn(QUESTIONS[0], context)


@pytest.mark.parametrize("name", METHODS)
def test_every_method_says_what_it_is_and_in_what_it_deviates(name):
    said = about(name, METHODS[name])
    assert said.what.endswith(".") and len(said.what) < 160
    assert said.paper and said.official_code
    assert said.deviations or name == "abstain"
    assert all(item == item.strip() and item for item in said.deviations)


def test_only_the_oracle_sees_evidence_and_only_always_abstain_answers_itself():
    tools = tools_for()
    methods = {name: make_method(name, CONFIG, tools) for name in NAMES}
    assert [name for name, method in methods.items() if isinstance(method, SeesEvidence)] == ["oracle"]
    assert [name for name, method in methods.items() if isinstance(method, AnswersItself)] == ["abstain"]
