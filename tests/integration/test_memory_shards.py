"""Shard actors on a real Ray: whose a conversation is, what a killed shard loses, how errors travel."""

import asyncio
from collections import Counter

import pytest
import ray

from memsif_ray.clients.scripted_server import scripted_server
from memsif_ray.config import EmbedderConfig, ModelConfig
from memsif_ray.errors import Conflict, NotFound, ServiceBusy
from memsif_ray.runtime import memory_lines
from memsif_ray.runtime.memory_router import ShardedConversations
from memsif_ray.runtime.memory_shards import Keeper, Shards, ShardsConfig
from memsif_ray.service.backend import Caller, Paging
from memsif_ray.service.models import (
    IngestRequest,
    MemoryChange,
    MessageIn,
    OperationStatus,
    SearchRequest,
)
from memsif_ray.storage.sql import open_store

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]

ANN, BO = Caller("ann"), Caller("bo")
WRITERS, WRITES, KILLS = 8, 12, 4
on_both_databases = pytest.mark.parametrize("store_url", ["sqlite", "postgres"], indirect=True)


@pytest.fixture
def server():
    with scripted_server(latency_s=0.01) as server:
        yield server


@pytest.fixture
def store_url(request, tmp_path):
    if getattr(request, "param", "sqlite") == "postgres":
        return request.getfixturevalue("postgres_url")
    return f"sqlite:///{tmp_path}/memory.db"


@pytest.fixture
def config(server, store_url):
    return ShardsConfig(
        store=store_url,
        model=ModelConfig(base_url=server.base_url, model="scripted", deadline_s=60),
        embedder=EmbedderConfig(base_url=server.base_url, model="hash-64"),
        entities="rules",
    )


@pytest.fixture
async def backend(config):
    keeper = Keeper(config)
    await keeper.check()
    backend = ShardedConversations(config, await open_store(config.store_url()))
    yield backend
    await backend.close()
    await keeper.end()


def said(conversation_id, *texts, wait=True):
    return IngestRequest(conversation_id=conversation_id, messages=list(texts), wait=wait)


async def persistently(call):
    """As a client would: again when it is told to come back."""
    while True:
        try:
            return await call()
        except ServiceBusy as busy:
            assert busy.retry_after_s
            await asyncio.sleep(0.2)


async def all_messages(backend, conversation_id):
    page = await persistently(lambda: backend.messages(ANN, conversation_id, Paging(limit=1_000)))
    return [message.content for message in page.results]


async def test_conversations_are_spread_and_each_call_finds_its_owner(backend, config):
    names = [f"talk {number}" for number in range(8)]
    for name in names:
        await backend.ingest(ANN, said(name, f"I adopted a greyhound in {name}."))
    live = [
        ray.get(Shards(config).find(number).care.remote("load")).live_conversations
        for number in range(config.shards)
    ]
    assert sum(live) == len(names)
    assert all(live), "with two shards and eight conversations both have some"
    page = await backend.memories(ANN, names[0], Paging())
    found = await backend.memory(ANN, page.results[0].id)
    assert found.conversation_id == names[0]
    assert (await backend.provenance(ANN, found.id)).messages[0].content.endswith(names[0] + ".")
    assert [row.conversation_id for row in (await backend.conversations(ANN, Paging())).results] == names
    await backend.check()
    load = await backend.load()
    assert (load.live_conversations, load.shards, load.shards_up) == (len(names), 2, 2)


async def test_errors_arrive_as_what_they_are(backend):
    await backend.ingest(ANN, said("a", "I adopted a greyhound."))
    memory = (await backend.memories(ANN, "a", Paging())).results[0]
    with pytest.raises(NotFound, match="no conversation 'b'"):
        await backend.messages(ANN, "b", Paging())
    with pytest.raises(NotFound):
        await backend.memory(BO, memory.id)
    with pytest.raises(Conflict, match="has version") as conflict:
        await backend.change(ANN, memory.id, MemoryChange(text="A whippet."), if_version=99)
    assert type(conflict.value) is Conflict
    reply = await backend.ingest(ANN, said("a", "One."), idempotency_key="once")
    assert reply == await backend.ingest(ANN, said("a", "One."), idempotency_key="once")
    with pytest.raises(Conflict):
        await backend.ingest(ANN, said("a", "Two."), idempotency_key="once")


@on_both_databases
async def test_a_killed_shard_loses_nothing_and_does_nothing_twice(backend, config):
    acknowledged = {f"talk-{writer}": [] for writer in range(WRITERS)}

    async def write(name):
        for number in range(WRITES):
            text = f"{name} says {number}."
            request = said(name, MessageIn(content=text, id=f"m{number}"), wait=False)
            await persistently(lambda request=request: backend.ingest(ANN, request))
            acknowledged[name].append(text)

    async def kill():
        for turn in range(KILLS):
            await asyncio.sleep(0.4)
            ray.kill(Shards(config).find(turn % config.shards), no_restart=False)

    await asyncio.gather(kill(), *map(write, acknowledged))
    for name, texts in acknowledged.items():
        assert await all_messages(backend, name) == texts
        last = await persistently(lambda name=name: backend.ingest(ANN, said(name, "That is all.")))
        assert last.status is OperationStatus.DONE
        segments = (await persistently(lambda name=name: backend.segments(ANN, name, Paging()))).results
        digested = Counter(message for segment in segments for message in segment.message_ids)
        assert set(digested.values()) == {1}
        assert len(digested) == WRITES + 1


async def test_a_write_without_ids_is_stored_once_when_its_shard_dies_under_it(backend, config, monkeypatch):
    monkeypatch.setattr(memory_lines, "_PATIENCE_S", 300.0)  # on a busy machine a restart takes its time
    await backend.ingest(ANN, said("a", "Hello."))
    writing = [asyncio.create_task(backend.ingest(ANN, said("a", f"Number {n}."))) for n in range(6)]
    await asyncio.sleep(0.05)
    for number in range(config.shards):
        ray.kill(Shards(config).find(number), no_restart=False)
    await asyncio.gather(*writing)
    assert sorted(await all_messages(backend, "a")) == ["Hello.", *(f"Number {n}." for n in range(6))]


@on_both_databases
async def test_a_restarted_shard_takes_up_what_was_not_digested(config, server):
    keeper = Keeper(config)
    await keeper.check()
    backend = ShardedConversations(config, await open_store(config.store_url()))
    try:
        operation = await backend.ingest(ANN, said("a", *(f"Line {n}." for n in range(60)), wait=False))
        for number in range(config.shards):
            ray.kill(Shards(config).find(number), no_restart=False)
        await persistently(keeper.check)  # what Serve does every few seconds; nobody asks for "a"
        for _ in range(200):
            if (await backend._store.operation("ann", operation.id)).status is OperationStatus.DONE:
                break
            await asyncio.sleep(0.1)
        else:
            pytest.fail("not taken up")
    finally:
        await backend.close()
        await keeper.end()


async def test_a_keeper_makes_a_shard_again_that_is_gone_for_good(backend, config):
    await backend.ingest(ANN, said("a", "I adopted a greyhound."))
    for number in range(config.shards):
        ray.kill(Shards(config).find(number))
    gone = await backend.load()
    assert (gone.shards, gone.shards_up) == (2, 0)
    asking = asyncio.create_task(backend.search(ANN, SearchRequest(conversation_id="a", query="greyhound")))
    await persistently(Keeper(config).check)
    assert (await asking).results


async def test_too_many_calls_are_refused_with_a_pause(config, server):
    small = config.model_copy(update={"shards": 1, "calls_in_flight": 1, "calls_queued": 1})
    keeper = Keeper(small)
    await keeper.check()
    backend = ShardedConversations(small, await open_store(small.store_url()))
    try:
        tries = [backend.ingest(ANN, said("a", f"Line {n}.")) for n in range(12)]
        outcomes = await asyncio.gather(*tries, return_exceptions=True)
        refused = [outcome for outcome in outcomes if isinstance(outcome, ServiceBusy)]
        assert {(busy.code, busy.retry_after_s) for busy in refused} == {("shard_full", 1.0)}
        stored = [outcome for outcome in outcomes if not isinstance(outcome, BaseException)]
        assert len(stored) + len(refused) == 12
        assert len(await all_messages(backend, "a")) == len(stored)
        await backend.check()
    finally:
        await backend.close()
        await keeper.end()


async def test_after_the_end_nothing_is_left_running(config):
    keeper = Keeper(config)
    await keeper.check()
    await keeper.end()
    with pytest.raises(ServiceBusy, match="not there"):
        Shards(config).find(0)
