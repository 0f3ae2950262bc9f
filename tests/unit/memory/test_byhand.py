"""What a person may do to a fact, and what is left of it."""

from datetime import datetime

import pytest

from memsif_ray.config import ActiveFactConfig, MemoryConfig
from memsif_ray.errors import Conflict, NotFound
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.types import Category, Op, Question, Track

EAGER = MemoryConfig(active=ActiveFactConfig(theta_source=0.0, theta_query=0.0, tau_compatible=-1.0))
LATER = datetime(2024, 6, 1)


@pytest.fixture
async def memory(tools_for, say):
    made = ConversationMemory("c1", config=EAGER, tools=tools_for())
    await made.add(
        [
            say("I love oat milk.", at="2024-02-01"),
            say("I live in Ghent.", at="2024-04-01", session=2),
        ]
    )
    await made.flush()
    return made


def fact_about(memory, word, **when):
    return next(f for f in memory.facts(**when) if word in f.statement)


async def found(memory, text):
    context = await memory.context(Question("q", "c1", 1, text, Category.SINGLE_HOP))
    return {item.item_id for item in context.items}


async def test_a_retracted_fact_is_out_of_use_and_comes_back_as_it_was(memory):
    fact = fact_about(memory, "oat")
    before = memory.operations()
    memory.retract(fact.fact_id, LATER)
    assert fact.fact_id not in {f.fact_id for f in memory.facts()}
    assert fact.fact_id not in {f.fact_id for f in memory.facts(valid_at=datetime(2024, 3, 1))}
    assert fact.fact_id in {f.fact_id for f in memory.facts(as_of=datetime(2024, 5, 1))}
    assert fact.fact_id not in await found(memory, "What milk did Rens take before?")
    back = memory.reinstate(fact.fact_id, datetime(2024, 6, 2))
    assert (back.statement, back.status) == (fact.statement, "active")
    assert memory.operations()[: len(before)] == before
    assert [(o.op, o.decided_by) for o in memory.operations()[-2:]] == [
        (Op.RETRACT, "user"),
        (Op.RESTORE, "user"),
    ]


async def test_a_superseded_fact_that_was_retracted_comes_back_superseded(memory):
    old = fact_about(memory, "oat").fact_id
    await memory.replace(old, LATER, statement="Rens takes soy milk", since=None)
    memory.retract(old, LATER)
    assert memory.reinstate(old, LATER).status == "superseded"


async def test_what_does_not_fit_is_refused_and_changes_nothing(memory):
    fact = fact_about(memory, "oat")
    before = memory.operations()
    with pytest.raises(NotFound):
        memory.retract("core_00099", LATER)
    with pytest.raises(Conflict, match="active, not retracted"):
        memory.reinstate(fact.fact_id, LATER)
    with pytest.raises(Conflict, match="correct it instead"):
        await memory.replace(fact.fact_id, LATER, statement="Rens drinks tea", since=datetime(2020, 1, 1))
    memory.retract(fact.fact_id, LATER)
    with pytest.raises(Conflict):
        await memory.correct(fact.fact_id, LATER, statement="Rens drinks tea")
    assert len(memory.operations()) == len(before) + 1


async def test_a_correction_keeps_the_id_and_the_earlier_version(memory):
    fact = fact_about(memory, "oat")
    new = await memory.correct(fact.fact_id, LATER, statement="Rens takes barley milk")
    assert new.fact_id == fact.fact_id and new.message_ids == fact.message_ids
    assert fact_about(memory, "oat", as_of=datetime(2024, 5, 1)) == fact
    assert memory.view().core.search((await memory._writer.embed("Rens takes barley milk")), 1)[0][1] > 0.999
    ended = await memory.correct(fact.fact_id, LATER, valid_to=datetime(2024, 5, 1))
    assert ended.statement == "Rens takes barley milk" and ended.valid_to == datetime(2024, 5, 1)


async def test_a_successor_takes_over_at_once_even_if_messages_come_from_the_future(memory):
    fact = fact_about(memory, "oat")
    new = await memory.replace(
        fact.fact_id, datetime(2020, 1, 1), statement="Rens takes soy milk", since=None
    )
    assert [f.fact_id for f in memory.facts() if "milk" in f.statement] == [new.fact_id]
    old = memory.view().core.get(fact.fact_id)
    assert (old.status, old.replaced_by) == ("superseded", new.fact_id)


async def test_erasure_leaves_no_word_and_wakes_nothing_that_was_replaced(memory, tools_for):
    old = fact_about(memory, "oat").fact_id
    new = (await memory.replace(old, LATER, statement="Rens takes soy milk", since=None)).fact_id
    kept = fact_about(memory, "Ghent")
    memory.erase(new)
    dump = memory.dump()
    assert "soy" not in repr([dump["fact_operations"], dump["decisions"], dump["clusters"]])
    assert new not in {v.unit_id for v in dump["vectors"]}
    assert memory.facts() == [kept]  # the oat milk of before stays in the past
    with pytest.raises(NotFound):
        memory.erase(new)
    again = ConversationMemory("c1", config=EAGER, tools=tools_for())
    again.restore(dump)
    assert again.facts() == [kept]
    added = await again.replace(kept.fact_id, LATER, statement="Rens lives in Bruges", since=None)
    assert added.fact_id not in {old, new, kept.fact_id}


async def test_erasing_an_active_fact_empties_the_cluster_it_came_from(memory):
    for number, text in enumerate(("What does Rens drink at work?", "Where did Rens grow up?")):
        question = Question(f"q{number}", "c1", number, text, Category.SINGLE_HOP)
        for _ in range(2):
            await memory.learn(question, await memory.context(question))
    (promoted, *_) = memory.facts(Track.ACTIVE)
    memory.erase(promoted.fact_id)
    (cluster,) = [c for c in memory.active.clusters if c.promoted_fact_id == promoted.fact_id]
    assert (cluster.statements, cluster.queries, cluster.subject) == ((), (), "")
    await memory.learn(question, await memory.context(question))  # what is asked again may grow anew
    assert all(c.statements for c in memory.active.clusters if c is not cluster)
