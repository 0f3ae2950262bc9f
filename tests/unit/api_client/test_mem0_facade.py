"""Code written for mem0, over a memory of ours."""

import pytest

import memsif_ray
from memsif_ray.api.client import ValidationError
from memsif_ray.api.mem0 import Memory
from memsif_ray.clients.entities import RuleEntities
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.memory.tools import NO_MODEL, Tools

TURNS = [
    {"role": "system", "content": "Be kind."},
    {"role": "user", "content": "I am allergic to nuts."},
    {"role": "assistant", "content": "I will remember that."},
]


@pytest.fixture
def memory(client):
    return Memory(client)


def test_a_programme_written_for_mem0_runs(memory, backend):
    added = memory.add(TURNS, user_id="amy", metadata={"source": "chat"})
    assert [(r["memory"], r["event"]) for r in added["results"]] == [
        ("I am allergic to nuts.", "ADD"),
        ("I will remember that.", "ADD"),
    ]
    assert list(backend.kept) == ["user:amy"]
    memory_id = added["results"][0]["id"]
    for scope in ({"filters": {"user_id": "amy"}}, {"user_id": "amy"}):
        (hit,) = memory.search("allergic", top_k=5, **scope)["results"]
        assert (hit["id"], hit["memory"], hit["user_id"]) == (memory_id, "I am allergic to nuts.", "amy")
        assert hit["score"] == 1.0
    assert memory.search("allergic", user_id="amy", threshold=2.0) == {"results": []}
    assert memory.get(memory_id)["user_id"] == "amy"
    assert len(memory.get_all(filters={"user_id": "amy"})["results"]) == 2
    assert len(memory.get_all(user_id="amy", top_k=1)["results"]) == 1
    memory.update(memory_id, data="I am allergic to peanuts.")
    memory.delete(memory_id)
    rows = memory.history(memory_id)
    assert [(row["event"], row["old_memory"], row["new_memory"]) for row in rows] == [
        ("ADD", None, "I am allergic to nuts."),
        ("UPDATE", "I am allergic to nuts.", "I am allergic to peanuts."),
        ("DELETE", "I am allergic to peanuts.", "I am allergic to peanuts."),
    ]
    assert [row["is_deleted"] for row in rows] == [False, False, True]
    memory.delete_all(user_id="amy")
    memory.delete_all(user_id="amy")  # nothing there is no error
    assert not backend.kept


def test_only_what_was_added_is_reported(memory):
    memory.add("I have a dog.", user_id="amy")
    assert [r["memory"] for r in memory.add("I have a cat.", user_id="amy")["results"]] == ["I have a cat."]
    assert memory.add([TURNS[0]], user_id="amy") == {"results": []}


def test_scopes_do_not_meet(memory, backend):
    memory.add("of the user", user_id="x")
    memory.add("of the agent", agent_id="x")
    memory.add("of the run", run_id=7)
    assert sorted(backend.kept) == ["agent:x", "run:7", "user:x"]
    assert [r["memory"] for r in memory.get_all(agent_id=" x ")["results"]] == ["of the agent"]


@pytest.mark.parametrize(
    "scope",
    [
        {},
        {"user_id": ""},
        {"user_id": "  "},
        {"user_id": "*"},
        {"user_id": "a b"},
        {"user_id": True},
        {"user_id": ["amy", "bob"]},
        {"user_id": "amy", "run_id": "r"},
    ],
)
def test_a_call_without_one_scope_is_refused(memory, backend, scope):
    memory.add("hello", user_id="amy")
    calls = [memory.get_all, memory.delete_all, lambda **s: memory.search("x", **s)]
    calls += [lambda **s: memory.add("x", **s), lambda **s: memory.get_all(filters=s)]
    for call in calls:
        with pytest.raises(ValueError, match="user_id|run_id"):
            call(**scope)
    assert len(backend.kept["user:amy"].messages) == 1


def test_filters_that_are_not_understood_are_refused(memory):
    unknown = {"category": {"in": ["x"]}}, {"OR": "x"}, {"category": "*"}, {"user_id": {"in": ["amy"]}}
    for filters in ({"user_id": "amy", **one} for one in unknown):
        with pytest.raises(ValueError, match="not supported|must be one id"):
            memory.search("x", filters=filters)
    with pytest.raises(ValueError, match="twice"):
        memory.search("x", filters={"user_id": "amy"}, user_id="bob")


def test_what_is_not_there(memory):
    assert memory.get("mem_none") is None
    with pytest.raises(ValueError, match="not found"):
        memory.delete("mem_none")
    with pytest.raises(ValueError, match="text"):
        memory.update("mem_none")
    with pytest.raises(ValidationError):
        memory.add("   ", user_id="amy")


def test_it_needs_no_service():
    tools = Tools(ScriptedChat(), HashEmbedder(), RuleEntities(), EstimatingCounter(), NO_MODEL)
    with memsif_ray.Memory(tools=tools) as embedded:
        memory = Memory(embedded)
        (added,) = memory.add("I am allergic to nuts.", user_id="amy", metadata={"app": "x"})["results"]
        (source,) = embedded.provenance(added["id"]).messages
        assert source.metadata == {"app": "x"} and "app" not in memory.get(added["id"])["metadata"]
        assert added["event"] == "ADD" and "nuts" in added["memory"]
        assert "nuts" in memory.search("allergic", user_id="amy")["results"][0]["memory"]
        for app, found in (("x", True), ("y", False)):
            assert bool(memory.search("nuts", filters={"user_id": "amy", "app": app})["results"]) is found
        memory.update(added["id"], data="Amy is allergic to peanuts.")
        memory.delete(added["id"])
        assert [row["event"] for row in memory.history(added["id"])] == ["ADD", "UPDATE", "DELETE"]
        memory.delete_all(user_id="amy")
        assert memory.search("allergic", user_id="amy") == {"results": []}
