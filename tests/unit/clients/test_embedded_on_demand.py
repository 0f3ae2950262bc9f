"""An engine is made and started when it is needed, once, and not before."""

import asyncio

import pytest

from memsif_ray.clients.embedded.engine import Completion
from memsif_ray.clients.embedded.on_demand import EngineOnDemand
from memsif_ray.errors import ConfigError


class Recorded:
    """An engine that says what was done with it."""

    model, ready = "small", True

    def __init__(self, done):
        self.done = done
        done.append("made")

    async def start(self):
        await asyncio.sleep(0)
        self.done.append("started")

    async def generate(self, messages, max_tokens, *, temperature=0.0, seed=0, json_schema=None):
        self.done.append(("asked", messages[0]["content"], max_tokens, temperature, seed, json_schema))
        return Completion("yes", "stop", 3, 1)

    def count_tokens(self, text):
        return len(text.split())

    async def aclose(self):
        self.done.append("closed")


@pytest.fixture
def done():
    return []


@pytest.fixture
def engine(done):
    return EngineOnDemand("small", lambda: Recorded(done))


def said(text):
    return [{"role": "user", "content": text}]


async def test_what_is_not_needed_is_not_made(engine, done):
    assert (engine.model, engine.ready) == ("small", True)
    await engine.aclose()
    assert done == []


async def test_counting_starts_no_model(engine, done):
    assert [engine.count_tokens("a b"), engine.count_tokens("a")] == [2, 1]
    await engine.aclose()
    assert done == ["made"]


async def test_many_first_requests_start_it_once_and_reach_it_whole(engine, done):
    replies = await asyncio.gather(
        *(engine.generate(said(text), 5, temperature=0.5, seed=7, json_schema={}) for text in "ab")
    )
    assert [reply.text for reply in replies] == ["yes", "yes"]
    await engine.aclose()
    asked = [("asked", text, 5, 0.5, 7, {}) for text in "ab"]
    assert done[:2] == ["made", "started"] and sorted(done[2:4]) == asked and done[4:] == ["closed"]


async def test_a_model_that_is_not_there_is_told_by_the_request_and_may_come():
    done = []
    there = iter([False, True])

    def make():
        if not next(there):
            raise ConfigError("no embedded model")
        return Recorded(done)

    engine = EngineOnDemand("small", make)
    with pytest.raises(ConfigError):
        await engine.generate(said("a"), 5)
    assert (await engine.generate(said("a"), 5)).text == "yes"
