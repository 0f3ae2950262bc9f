"""Each ablation leaves out what its name says, and nothing else."""

from datetime import datetime

import pytest

from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat, reasonable
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import MemoryConfig, RunConfig
from memsif_ray.methods import METHODS, make_method
from memsif_ray.methods.base import Tools
from memsif_ray.methods.groups import ABLATIONS as NAMES
from memsif_ray.methods.memsif import ABLATIONS, ablated
from memsif_ray.types import Category, Conversation, Message, Question, Track

TOPICS = (
    "We walked Comet the greyhound in the park.",
    "Comet the greyhound walked in the park at the river.",
    "",
    "My taxes need eleven more forms, sadly.",
    "The forms for my taxes are long.",
)
HISTORY = Conversation(
    "c1",
    "locomo",
    ("Rens", "Uma"),
    tuple(
        Message("c1", f"D{s}:{n}", s * len(TOPICS) + n, s + 1, "Rens", text, datetime(2024, 1 + s, 1))
        for s in range(4)
        for n, text in enumerate(TOPICS)
    ),
)
QUESTIONS = tuple(
    Question(f"q{n}", "c1", n, text, Category.SINGLE_HOP)
    for n, text in enumerate(
        (
            "Where do they walk Comet the greyhound?",
            "In which park is Comet the greyhound walked?",
            "At which river does Comet the greyhound walk?",
            "Which park do they walk the greyhound Comet in?",
        )
    )
)
# φ alone decides boundaries, so that the segments of two memories can be compared.
CONFIG = RunConfig.model_validate(
    {"memory": {"segments": {"tau_split": 0.3, "tau_merge": 0.31}, "trajectories": {"decide": "rule"}}}
)


async def asked(name):
    """A memory that was built and asked every question."""
    tools = Tools(ScriptedChat(stubborn), HashEmbedder(256), RuleEntities(), EstimatingCounter())
    method = make_method(name, CONFIG, tools)
    await method.ingest(HISTORY)
    contexts = []
    for question in QUESTIONS:
        contexts.append(await method.context(question))
        await method.learn(question, contexts[-1])
    return method.memory, contexts, {request.stage for request in tools.chat.requests}


def stubborn(request):
    """Never satisfied with facts alone."""
    return '{"sufficient": false}' if request.stage == "sufficiency" else reasonable(request)


def kinds(contexts):
    return {item.kind for context in contexts for item in context.items}


async def test_the_whole_system_has_every_part():
    memory, contexts, stages = await asked("memsif")
    assert any(len(s.message_ids) > 1 for s in memory.segments)
    assert any(len(t.segment_ids) > 1 for t in memory.trajectories)
    assert memory.facts(Track.CORE) and memory.active.clusters
    assert {"core", "evidence"} <= kinds(contexts)
    assert {"extract", "sufficiency", "distil"} <= stages


async def test_without_topical_segments_every_trajectory_is_made_of_single_messages():
    memory, _, stages = await asked("memsif:no-ts")
    said = {m.message_id for m in HISTORY.messages if m.text}
    assert all(len(said & set(s.message_ids)) == 1 for s in memory.segments)
    assert len(memory.segments) == len(said)
    assert any(len(t.segment_ids) > 1 for t in memory.trajectories)
    assert not [d for d in memory.dump()["decisions"] if d.kind == "boundary"]
    assert "boundary" not in stages
    assert memory.facts(Track.CORE) and memory.active.clusters


async def test_without_event_trajectories_there_are_the_same_segments_and_no_trajectory():
    whole, _, _ = await asked("memsif")
    memory, contexts, stages = await asked("memsif:no-et")
    assert memory.trajectories == ()
    assert [s.message_ids for s in memory.segments] == [s.message_ids for s in whole.segments]
    assert not [d for d in memory.dump()["decisions"] if d.kind == "trajectory"]
    assert "trajectory" not in stages
    assert memory.facts(Track.CORE) and memory.active.clusters and "evidence" in kinds(contexts)


async def test_without_core_facts_only_the_other_track_holds_facts():
    whole, _, _ = await asked("memsif")
    memory, contexts, stages = await asked("memsif:no-cf")
    assert memory.facts(Track.CORE) == []
    assert not stages & {"extract", "consolidate"}
    assert memory.active.clusters and "evidence" in kinds(contexts) and "core" not in kinds(contexts)
    assert [t.segment_ids for t in memory.trajectories] == [t.segment_ids for t in whole.trajectories]


async def test_without_active_facts_core_facts_alone_answer():
    whole, _, _ = await asked("memsif")
    memory, contexts, stages = await asked("memsif:no-af")
    assert memory.active.clusters == []
    assert memory.facts() == whole.facts(Track.CORE)
    assert kinds(contexts) == {"core"}
    assert not stages & {"sufficiency", "distil", "promote"}


async def test_query_local_evidence_answers_and_is_then_forgotten():
    whole, _, _ = await asked("memsif")
    memory, contexts, stages = await asked("memsif:query-local")
    assert memory.active.clusters == []
    assert memory.facts() == whole.facts(Track.CORE)
    assert {"core", "evidence"} <= kinds(contexts)
    assert {"sufficiency", "distil"} <= stages and "promote" not in stages


@pytest.mark.parametrize("name", NAMES)
def test_an_ablation_changes_only_the_settings_that_it_names(name):
    part = name.partition(":")[2]
    plain, changed = MemoryConfig().model_dump(), ablated(MemoryConfig(), part).model_dump()
    found = {
        (section, key): value
        for section, settings in changed.items()
        for key, value in settings.items()
        if value != plain[section][key]
    }
    assert found == {(section, key): v for section, new in ABLATIONS[part].items() for key, v in new.items()}
    assert ablated(MemoryConfig(), part) == MemoryConfig.model_validate(changed)


def test_every_ablation_is_a_method_and_in_the_group():
    assert set(NAMES) == {name for name in METHODS if name.startswith("memsif:")}
