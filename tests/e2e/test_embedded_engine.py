"""The real engine: bundled weights, conversion, batching, structured output."""

import asyncio
import json
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import pytest
import pytest_asyncio

from memsif_ray.clients.embedded.engine import EmbeddedEngine, EngineSettings
from memsif_ray.clients.embedded.weights import find_model
from memsif_ray.errors import RequestRefused, ServiceBusy
from tests.json_schemas import object_of

pytestmark = [pytest.mark.model, pytest.mark.asyncio(loop_scope="module")]


ANSWER = object_of(city={"type": "string"}, sure={"type": "boolean"})
NAMES = {"type": "array", "maxItems": 2, "items": {"type": "string", "maxLength": 20}}
LONE = {"type": "array", "maxItems": 1, "items": {"type": "integer"}}
CAPITALS = {
    "France": "Paris",
    "Italy": "Rome",
    "Spain": "Madrid",
    "Germany": "Berlin",
    "Japan": "Tokyo",
    "Russia": "Moscow",
    "Egypt": "Cairo",
    "Greece": "Athens",
}


def chat(text):
    return [{"role": "system", "content": "You are helpful."}, {"role": "user", "content": text}]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine():
    settings = EngineSettings(context_window=4096, kv_cache_gib=1)
    engine = EmbeddedEngine(find_model("qwen2.5-coder-0.5b"), model="qwen2.5-coder-0.5b", settings=settings)
    await engine.start()
    yield engine
    await engine.aclose()


async def test_eight_at_once_each_get_their_own_answer(engine):
    asked = [engine.generate(chat(f"What is the capital of {land}?"), 30) for land in CAPITALS]
    replies = await asyncio.gather(*asked)
    for reply, city in zip(replies, CAPITALS.values(), strict=True):
        assert city in reply.text
        assert reply.finish_reason == "stop"
        assert 10 < reply.prompt_tokens < 40
        assert 0 < reply.completion_tokens < 30


async def test_reply_obeys_the_schema_and_repeats_at_temperature_zero(engine):
    ask = chat("What is the capital of France? Answer in JSON.")
    first = await engine.generate(ask, 80, json_schema=ANSWER)
    second = await engine.generate(ask, 80, json_schema=ANSWER)
    assert first == second
    reply = json.loads(first.text)
    assert reply.keys() == {"city", "sure"}
    assert "Paris" in reply["city"]


async def test_a_reply_of_every_usual_kind_is_written_as_json_dumps_writes(engine):
    person = {"name": {"type": "string", "maxLength": 40}, "born": {"type": "integer"}, "kin": NAMES}
    wanted = {
        "known": {"type": "boolean"},
        "kind": {"type": "string", "enum": ["poet", 'pa"int\\er é']},
        "people": {"type": "array", "minItems": 2, "maxItems": 3, "items": object_of(**person)},
        "lone": LONE,
        "note": {"type": "string", "maxLength": 60},
    }
    ask = chat("Write JSON about Anne and Emily Brontë, with their brothers and sisters as kin.")
    reply = await engine.generate(ask, 400, json_schema=object_of(**wanted))
    told = json.loads(reply.text)
    assert json.dumps(told, ensure_ascii=False) == reply.text
    assert list(told) == list(wanted) and 2 <= len(told["people"]) <= 3
    assert len(told["lone"]) <= 1
    for one in told["people"]:
        assert (type(one["name"]), type(one["born"])) == (str, int) and len(one["kin"]) <= 2


async def test_length_limit_says_so(engine):
    reply = await engine.generate(chat("Count from one to one hundred in words."), 5)
    assert (reply.finish_reason, reply.completion_tokens) == ("length", 5)


async def test_one_bad_request_fails_alone(engine):
    good = asyncio.create_task(engine.generate(chat("What is the capital of Italy?"), 30))
    bad_schemas = [{"type": "objekt"}, {"$ref": "#/nowhere"}]
    bad = [engine.generate(chat("Hello"), 30, json_schema=schema) for schema in bad_schemas]
    too_long = engine.generate(chat("word " * 5000), 30)
    failures = await asyncio.gather(*bad, too_long, return_exceptions=True)
    assert [type(failure) for failure in failures] == [RequestRefused] * 3
    assert [failure.code for failure in failures] == ["invalid_schema"] * 2 + ["context_length_exceeded"]
    assert "/" not in str(failures[0])
    assert "Rome" in (await good).text
    assert "Madrid" in (await engine.generate(chat("What is the capital of Spain?"), 30)).text


async def test_tokens_are_counted_beyond_the_converters_limit(engine):
    assert engine.count_tokens("") == 0
    assert engine.count_tokens("hello world") == 2
    assert engine.count_tokens("word " * 20_000) > 20_000


async def test_cancelled_request_frees_its_place(engine):
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(engine.generate(chat("Tell a very long story."), 3000), 1.0)
    started = time.perf_counter()
    await engine.generate(chat("What is the capital of Greece?"), 10)
    assert time.perf_counter() - started < 30


async def seconds_for(engine, speaker, questions):
    """How long it takes to begin the answers to some questions about a new history, asked together."""
    history = "\n".join(f"Day {day}: {speaker} met Bob and bought {day % 13} apples." for day in range(70))
    started = time.perf_counter()
    asked = [engine.generate(chat(f"{history}\nHow many apples on day {day}?"), 1) for day in questions]
    assert all(reply.prompt_tokens > 1000 for reply in await asyncio.gather(*asked))
    return time.perf_counter() - started


async def test_a_history_is_read_once_however_many_ask(engine):
    alone = await seconds_for(engine, "Ann", [5])
    again = await seconds_for(engine, "Ann", [50])
    together = await seconds_for(engine, "Eve", range(8))
    assert again < alone / 2
    assert together < 4 * alone


async def test_full_queue_and_closed_engine_are_busy():
    settings = EngineSettings(context_window=2048, kv_cache_gib=1, max_in_flight=1, max_queued=0)
    engine = EmbeddedEngine(find_model("qwen2.5-coder-0.5b"), model="q", settings=settings)
    await engine.start()
    first = asyncio.create_task(engine.generate(chat("What is the capital of Egypt?"), 400))
    await asyncio.sleep(0.1)
    with pytest.raises(ServiceBusy) as full:
        await engine.generate(chat("Hello"), 5)
    assert (full.value.code, full.value.retry_after_s) == ("queue_full", 1.0)
    await engine.aclose()
    with pytest.raises(ServiceBusy):
        await first
    with pytest.raises(ServiceBusy) as stopped:
        await engine.generate(chat("Hello"), 5)
    assert stopped.value.code == "engine_stopped"
    assert not engine.ready


def _find(name, cache_dir):
    return find_model(name, cache_dir=cache_dir)


async def test_two_processes_convert_once(tmp_path, small_model):
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        first, second = pool.map(_find, [small_model] * 2, [tmp_path] * 2)
    assert first == second
    assert [path.name for path in first.parent.iterdir() if not path.name.startswith(".")] == [first.name]
    assert not list(first.glob("*.gguf"))
