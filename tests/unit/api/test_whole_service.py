"""Over HTTP down to the database and back: the real service, keys and SQLite; scripted models."""

import contextlib

import pytest

from memsif_ray.api.app import make_app
from memsif_ray.api.settings import ApiSettings
from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.storage.sql import open_store
from tests.unit.api.conftest import client_of
from tests.unit.api.test_chat import Parrot
from tests.unit.service.serving import Clock, tools_of

SAID = {
    "conversation_id": "c1",
    "wait": True,
    "messages": [
        {"content": "My name is Amy and my vault word is heron.", "id": "m1", "name": "Amy"},
        {"content": "I moved to Utrecht in May 2024.", "id": "m2", "name": "Amy"},
    ],
}


@contextlib.asynccontextmanager
async def service_in(folder, **settings):
    """The service over a database file in the folder, and its keys."""
    clock = Clock()
    store = await open_store(f"sqlite:///{folder}/memsif.db", clock=clock)
    backend = Conversations(store, tools_of(), ServiceConfig(), clock)
    app = make_app(
        backend, store.api_keys, ApiSettings(**settings), upstream=Parrot(), embedder=HashEmbedder(8)
    )
    async with app.router.lifespan_context(app):
        yield app, store.api_keys


@pytest.fixture
def running(tmp_path):
    """Start the service over one database file, as often as wanted."""
    return lambda: service_in(tmp_path)


async def new_key(keys, tenant):
    if tenant not in await keys.tenants():
        await keys.add_tenant(tenant)
    return await keys.add_key(tenant, name="test")


async def facts(client):
    reply = await client.get("/v1/memories", params={"conversation_id": "c1"})
    assert reply.status_code == 200, reply.text
    return reply.json()["results"]


async def test_what_was_said_is_found_explained_and_there_after_a_restart(running):
    async with running() as (app, keys):
        _, secret = await new_key(keys, "T1")
        async with client_of(app, secret) as client:
            operation = (await client.post("/v1/memories", json=SAID)).json()
            assert (operation["status"], operation["accepted"]) == ("done", 2)
            found = await client.post("/v1/search", json={"conversation_id": "c1", "query": "vault word"})
            assert "heron" in found.text
            before = await facts(client)
            why = (await client.get(f"/v1/memories/{before[0]['id']}/provenance")).json()
            assert why["messages"] and why["segments"]
            assert (await client.get("/health/ready")).json() == {"status": "ready"}
    async with running() as (app, _), client_of(app, secret) as client:
        assert await facts(client) == before
        again = (await client.post("/v1/memories", json=SAID)).json()
        assert (again["accepted"], again["duplicates"]) == (0, 2)
        assert await facts(client) == before


async def test_a_memory_is_corrected_retracted_and_erased(running):
    async with running() as (app, keys):
        _, secret = await new_key(keys, "T1")
        async with client_of(app, secret) as client:
            await client.post("/v1/memories", json=SAID)
            memory = (await facts(client))[0]
            address, tag = f"/v1/memories/{memory['id']}", f'"{memory["version"]}"'
            changed = await client.patch(address, json={"text": "A new text"}, headers={"If-Match": tag})
            assert changed.status_code == 200 and changed.headers["etag"] != tag
            late = await client.patch(address, json={"text": "Too late"}, headers={"If-Match": tag})
            assert late.status_code == 409
            assert (await client.delete(address)).json()["status"] == "retracted"
            assert memory["id"] not in [fact["id"] for fact in await facts(client)]
            assert (await client.post(f"{address}/restore")).json()["text"] == "A new text"
            assert (await client.delete(address, params={"hard": "true"})).json()["memories"] == 1
            assert (await client.get(address)).status_code == 404
            assert (await client.delete("/v1/conversations/c1")).json()["messages"] == 2
            assert (await client.get("/v1/conversations/c1/messages")).status_code == 404


async def test_tenants_do_not_meet_and_a_revoked_key_is_out(running):
    async with running() as (app, keys):
        (first, secret), (_, other) = await new_key(keys, "T1"), await new_key(keys, "T2")
        async with client_of(app, secret) as amy, client_of(app, other) as bob:
            await amy.post("/v1/memories", json=SAID)
            memory = (await facts(amy))[0]["id"]
            for path in (f"/v1/memories/{memory}", f"/v1/memories/{memory}/provenance"):
                assert (await bob.get(path)).status_code == 404
            unknown = await bob.post("/v1/search", json={"conversation_id": "c1", "query": "vault word"})
            assert unknown.json()["results"] == []
            assert (await bob.get("/v1/conversations")).json()["results"] == []
            assert (await bob.get("/v1/export", params={"conversation_id": "c1"})).status_code == 404
            await keys.revoke(first.key_id)
            assert (await amy.get("/v1/conversations")).status_code == 401


async def test_a_chat_is_remembered_and_recalled(running):
    async with running() as (app, keys):
        _, secret = await new_key(keys, "T1")
        async with client_of(app, secret) as client:
            await client.post("/v1/memories", json=SAID)
            messages = [{"role": "user", "content": "What is my vault word?"}]
            body = {"model": "parrot", "messages": messages, "user": "c1"}
            reply = await client.post("/v1/chat/completions", json=body)
            assert reply.json()["memsif"]["retrieved_ids"], reply.text
            assert "heron" in app.state.upstream.asked[0]["messages"][0]["content"]
            kept = (await client.get("/v1/conversations/c1/messages")).json()["results"]
            assert [message["role"] for message in kept[2:]] == ["user", "assistant"]
