"""The official Mem0 package behind our models. Skipped where it is not installed."""

import sys

import pytest

from memsif_ray.config import RunConfig
from memsif_ray.errors import ConfigError, DataError, ServiceBusy
from memsif_ray.methods.mem0.official import Mem0Official
from tests.contracts.test_methods import (
    CONFIG,
    EMPTY,
    QUESTIONS,
    SMALL,
    built,
    made,
    plain,
    stored,
    tools_for,
)

NAME = "mem0-official"


def test_without_the_package_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "mem0", None)
    with pytest.raises(ConfigError, match=r"memsif-ray\[mem0-official\]"):
        Mem0Official(RunConfig(), tools_for())


@pytest.fixture
def package():
    pytest.importorskip("mem0", reason="needs pip install 'memsif-ray[mem0-official]'")


def one_fact_per_call(request):
    last = [line for line in request.user.splitlines() if line.startswith("user: [")][-1]
    text = last.removeprefix("user: ")
    return f'{{"memory": [{{"id": "0", "text": "{text}", "attributed_to": "user"}}]}}'


@pytest.mark.usefixtures("package")
async def test_its_calls_go_through_our_models_and_say_the_day_of_the_messages():
    tools = tools_for(one_fact_per_call)
    method = await built(NAME, SMALL, tools)
    assert [request.stage for request in tools.chat.requests] == ["extract"] * 4
    assert "## Observation Date\n2024-02-01\n" in tools.chat.requests[0].user
    assert "## Current Date\n2024-02-15\n" in tools.chat.requests[-1].user
    context = await method.context(QUESTIONS[0])
    assert context.retrieved_ids
    used = sum(tools.tokens.count(f"{item.text}\n") for item in context.items)
    assert used <= CONFIG.memory.retrieval.context_tokens


@pytest.mark.usefixtures("package")
async def test_a_stored_memory_is_restored_without_asking_a_model():
    first = await built(NAME, SMALL, tools_for(one_fact_per_call))
    silent = tools_for(lambda request: AssertionError("loading must not ask a model"))
    again = made(NAME, silent)
    await again.load(SMALL, stored(first, NAME))
    assert silent.chat.requests == []
    assert plain(stored(again, NAME)) == plain(stored(first, NAME))
    for question in QUESTIONS:
        assert repr(await again.context(question)) == repr(await first.context(question))


@pytest.mark.usefixtures("package")
async def test_replies_that_are_not_to_this_conversation_are_refused():
    first = await built(NAME, SMALL, tools_for(one_fact_per_call))
    tables = stored(first, NAME)
    short = {**tables, "notes": [note for note in tables["notes"] if note.note_id != "reply_00003"]}
    with pytest.raises(DataError, match="not those to this conversation"):
        await made(NAME, tools_for()).load(SMALL, short)


@pytest.mark.usefixtures("package")
async def test_a_failing_service_is_that_error_and_not_one_of_the_package():
    busy = ServiceBusy("gone", "timeout")
    with pytest.raises(ServiceBusy) as caught:
        await built(NAME, SMALL, tools_for(lambda request: busy))
    assert caught.value is busy


@pytest.mark.usefixtures("package")
async def test_a_model_that_says_nothing_is_written_down():
    method = await built(NAME, SMALL, tools_for(lambda request: ""))
    assert {(d.outcome, d.decided_by) for d in method.dump()["decisions"]} == {("0 memories", "fallback")}


@pytest.mark.usefixtures("package")
async def test_an_empty_conversation_is_an_empty_memory():
    method = await built(NAME, EMPTY, tools_for())
    assert (await method.context(QUESTIONS[0])).items == ()
    assert not any(method.dump().values())
