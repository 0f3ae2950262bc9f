"""One conversation end to end without weights: MC-07, MC-08, MC-19, MC-22, and state in, state out."""

import json
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from memsif_ray.clients.scripted import HashEmbedder, reasonable
from memsif_ray.config import MemoryConfig, SegmentConfig
from memsif_ray.errors import EmbedderMismatch, ServiceBusy
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.memory.tools import CAPABLE, NO_MODEL
from memsif_ray.types import Category, Question, Track

CONFIG = MemoryConfig()


def question(text, number=1):
    return Question(f"q{number}", "c1", number, text, Category.SINGLE_HOP)


def memory_of(tools, speakers=("Rens", "Uma"), config=CONFIG):
    return ConversationMemory("c1", config=config, tools=tools, speakers=speakers)


@pytest.fixture
def history(say):
    texts = [
        "I adopted a greyhound called Comet yesterday.",
        "Lovely! Does Comet like the rain?",
        "He hates the rain, and he sleeps all day.",
        "I started pottery classes in Hangzhou last week.",
        "My pottery teacher is called Wim.",
        "I moved to Ghent in March.",
        "",
        "Comet chased a cat through the pottery studio today!",
    ]
    return [
        say(
            text,
            at=f"2024-0{2 + i // 3}-1{i % 3}",
            speaker=("Rens", "Uma")[i % 2 if i < 3 else 0],
            session=1 + i // 3,
        )
        for i, text in enumerate(texts)
    ]


async def built(tools, history, config=CONFIG):
    memory = memory_of(tools, config=config)
    await memory.add(history)
    await memory.flush()
    return memory


def plain(tables):
    """Comparable content of a dump, vectors included."""
    with np.printoptions(threshold=10_000):
        return {name: [repr(value) for value in rows] for name, rows in tables.items()}


async def test_memory_is_built_and_searched_with_no_model_at_all(tools_for, history):
    tools = tools_for(lambda _: AssertionError("no model may be asked"))
    memory = await built(tools, history)
    context = await memory.context(question("Who is the pottery teacher?"))
    assert any("Wim" in item.text for item in context.items)
    assert "D2:5" in context.message_ids
    assert tools.chat.requests == []
    assert {d.decided_by for d in memory.dump()["decisions"]} <= {"rule", "threshold"}


@pytest.mark.parametrize("capabilities", [NO_MODEL, CAPABLE])
async def test_adding_twice_changes_nothing(tools_for, history, capabilities):
    tools = tools_for(reasonable, capabilities)
    memory = await built(tools, history)
    before, calls = plain(memory.dump()), len(tools.chat.requests)
    assert await memory.add(history) == 0
    await memory.flush()
    assert plain(memory.dump()) == before
    assert len(tools.chat.requests) == calls


async def test_only_the_new_message_is_processed(tools_for, history, say):
    memory = await built(tools_for(), history)
    assert await memory.add([*history, say("Comet turned four today.", at="2024-06-01", session=4)]) == 1
    assert len(memory.messages) == len(history) + 1


async def test_segments_tile_the_conversation_and_threads_tile_the_segments(tools_for, history):
    memory = await built(tools_for(), history)
    assert [m for s in memory.segments for m in s.message_ids] == [m.message_id for m in history]
    threaded = sorted(s for t in memory.trajectories for s in t.segment_ids)
    assert threaded == [s.segment_id for s in memory.segments]


@pytest.mark.parametrize("capabilities", [NO_MODEL, CAPABLE])
async def test_a_restored_memory_answers_and_learns_like_the_one_it_was_dumped_from(
    tools_for, history, capabilities
):
    tools = tools_for(reasonable, capabilities)
    memory = await built(tools, history)
    asked = [question("What does Comet hate?", 1), question("Where are the pottery classes?", 2)]
    for each in asked:
        await memory.learn(each, await memory.context(each))
    again = memory_of(tools)
    again.restore(memory.dump())
    assert plain(again.dump()) == plain(memory.dump())
    probe = question("Who teaches pottery?", 3)
    assert await again.context(probe) == await memory.context(probe)
    for each in (memory, again):
        await each.add(
            [replace(history[0], message_id="D9:1", position=len(history), text="Comet won a race.")]
        )
        await each.flush()
        await each.learn(probe, await each.context(probe))
    assert plain(again.dump()) == plain(memory.dump())


async def test_a_dump_of_another_embedder_is_refused_before_anything_is_taken_over(tools_for, history):
    dump = (await built(tools_for(), history)).dump()
    other = memory_of(replace(tools_for(), embedder=HashEmbedder(32)))
    with pytest.raises(EmbedderMismatch, match=r"hash-256.*hash-32"):
        other.restore(dump)
    assert other.messages == []


async def test_blank_things_are_kept_in_place_and_find_nothing(tools_for, history):
    memory = await built(tools_for(), history)
    assert memory.messages[6].text == ""
    assert "D3:7" not in {v.unit_id for v in memory.dump()["vectors"]}
    assert (await memory.context(question(" \n​"))).items == ()
    empty = await built(tools_for(), [])
    assert (await empty.context(question("Anything?"))).items == ()
    assert all(len(rows) == 0 for rows in empty.dump().values())


@pytest.mark.parametrize("budget", [1, 20, 60, 1024])
async def test_a_context_never_exceeds_its_budget(tools_for, history, budget):
    config = CONFIG.model_copy(
        update={"retrieval": CONFIG.retrieval.model_copy(update={"context_tokens": budget})}
    )
    tools = tools_for()
    memory = await built(tools, history, config)
    context = await memory.context(question("What does Rens do with Comet and pottery?"))
    assert sum(tools.tokens.count(item.text) + 1 for item in context.items) <= budget


async def test_reading_changes_no_state_and_learning_sees_no_answer(tools_for, history):
    memory = await built(tools_for(), history)
    before = plain(memory.dump())
    context = await memory.context(question("What does Comet hate?"))
    assert plain(memory.dump()) == before
    await memory.learn(question("What does Comet hate?"), context)
    assert memory.dump()["clusters"]


async def test_recurring_demand_over_several_sources_becomes_an_active_fact(tools_for, say):
    history = []
    for i in range(1, 7):
        for text in (
            f"We walked Comet the greyhound in park {i} at the river",
            f"Taxes {i}: forms, forms, forms!",
        ):
            history.append(say(text, at=f"2024-0{i}-01", session=i))
    memory = await built(tools_for(), history)
    questions = (
        "Where do they walk Comet the greyhound?",
        "In which park is Comet the greyhound walked?",
        "At which river does Comet the greyhound walk?",
        "Which park do they walk the greyhound Comet in?",
        "Where is Comet the greyhound walked at the river?",
    )
    for i, text in enumerate(questions):
        asked = question(text, i)
        await memory.learn(asked, await memory.context(asked))
    (fact,) = memory.facts(Track.ACTIVE)
    assert fact.subject == "Rens"
    assert len(fact.segment_ids) >= 2 and len(fact.query_ids) >= 2


@pytest.mark.parametrize("stage", ["boundary", "trajectory", "extract"])
async def test_what_an_outage_left_undone_is_done_by_the_next_call(tools_for, history, stage):
    failures = [ServiceBusy("gone")]

    def flaky(request):
        return failures.pop() if failures and request.stage == stage else reasonable(request)

    config = CONFIG.model_copy(update={"segments": SegmentConfig(tau_split=0.05, tau_merge=0.9)})
    undisturbed = await built(tools_for(reasonable, CAPABLE), history, config)
    memory = memory_of(tools_for(flaky, CAPABLE), config=config)
    with pytest.raises(ServiceBusy):
        await memory.add(history)
        await memory.flush()
    assert await memory.add(history) == 0
    await memory.flush()
    assert plain(memory.dump()) == plain(undisturbed.dump())


def milk_script(request):
    """Extracts what each message says about milk, and supersedes whatever is offered."""
    if request.stage == "extract":
        line = next(x for x in request.user.splitlines() if x.startswith("[1]"))
        kind = "oat" if "oat milk" in line else "soy"
        fact = {
            "subject": "Odd",
            "type": "Preference",
            "attribute": "milk",
            "statement": f"Odd takes {kind} milk",
            "messages": [1],
        }
        return json.dumps({"facts": [fact]})
    if request.stage == "consolidate":
        return json.dumps({"op": "Supersede", "targets": ["F1"], "statement": "Odd changed milk"})
    if request.stage == "sufficiency":
        return json.dumps({"sufficient": True})
    return reasonable(request)


async def test_a_mind_changed_twice_leaves_three_versions_and_one_live(tools_for, say):
    memory = memory_of(tools_for(milk_script, CAPABLE), speakers=("Odd",))
    for session, (at, text) in enumerate(
        [
            ("2023-03-01", "I take oat milk in my coffee."),
            ("2023-04-10", "I switched: only soy milk in coffee now."),
            ("2023-06-02", "Back to oat milk, soy was a mistake."),
        ],
        start=1,
    ):
        await memory.add([say(text, at=at, speaker="Odd", session=session)])
        await memory.flush()
        assert len(memory.facts()) == 1  # at no moment are zero versions live
    assert [f.statement for f in memory.facts()] == ["Odd takes oat milk"]
    may = memory.facts(valid_at=datetime(2023, 5, 15))
    assert [f.statement for f in may] == ["Odd takes soy milk"]
    intervals = [(o.fact.valid_from.date().isoformat()) for o in memory.operations()]
    assert intervals == ["2023-03-01", "2023-04-10", "2023-06-02"]
    now = await memory.context(question("What milk does Odd take now?"))
    assert [i.text for i in now.items] == ["[2 June 2023] Odd takes oat milk"]
    past = await memory.context(question("What milk did Odd use in May 2023?"))
    assert "[10 April 2023 until 2 June 2023] Odd takes soy milk" in [i.text for i in past.items]
