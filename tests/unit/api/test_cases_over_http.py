"""What has gone wrong in other memory services, over HTTP down to the database: MC-13, MC-18 and MC-19."""

import contextlib
import json

import numpy as np
import pytest

from memsif_ray.api.app import make_app
from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.storage.sql import open_store
from tests.unit.api.conftest import client_of
from tests.unit.service.serving import Clock, tools_of

HALF = np.sqrt(1 - 0.81)


class AboutOneThing(HashEmbedder):
    """Every text is near every other, cosine 0.81 and more, and no two different ones are the same."""

    def __init__(self):
        super().__init__(64)
        self.texts = []

    async def embed(self, texts):
        self.texts.extend(texts)
        own = await super().embed(texts)
        shared = np.full((len(texts), 1), 0.9, dtype=np.float32)
        return np.hstack([shared, HALF * own]).astype(np.float32)


@pytest.fixture
def embedder():
    return AboutOneThing()


@pytest.fixture
async def client(tmp_path, embedder):
    clock = Clock()
    store = await open_store(f"sqlite:///{tmp_path}/memsif.db", clock=clock)
    tools = tools_of(lambda _: "No walnuts.", embedder=embedder)
    app = make_app(Conversations(store, tools, ServiceConfig(), clock), None)
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(app.router.lifespan_context(app))
        yield await stack.enter_async_context(client_of(app))


async def remember(client, *messages, conversation="c1"):
    body = {"conversation_id": conversation, "messages": list(messages), "wait": True}
    reply = await client.post("/v1/memories", json=body)
    assert reply.status_code == 200 and reply.json()["status"] == "done", reply.text
    return reply.json()


async def listed(client, path, **query):
    return (await client.get(path, params={"conversation_id": "c1", **query})).json()["results"]


async def contents(client):
    reply = await client.get("/v1/conversations/c1/messages")
    return [m["content"] for m in reply.json()["results"]] if reply.is_success else []


# MC-13: own recall is no new evidence. The thresholds stand for three sources and three demands:
# (1 - 1/2) · 0.85 lies below 0.45, and (1 - 1/3) · 0.85 above it.

QUESTIONS = ["May I serve walnut cake?", "Which nuts are dangerous?", "What must the cook leave out?"]
ALLERGY = {"id": "m1", "content": "I am allergic to walnuts.", "name": "Amy", "session": "D1"}


async def ask_all(client):
    for question in QUESTIONS:
        reply = await client.post("/v1/answer", json={"conversation_id": "c1", "question": question})
        assert reply.json()["answer"] == "No walnuts.", reply.text


async def promotions(client):
    found = await listed(client, "/v1/candidates")
    return [len(c["sources"]) for c in found], [c["promoted"] for c in found if c["promoted"]]


async def test_one_message_three_times_is_one_source(client):
    told = [await remember(client, ALLERGY) for _ in range(3)]
    assert [(o["accepted"], o["duplicates"]) for o in told] == [(1, 0), (0, 1), (0, 1)]
    await ask_all(client)
    assert await promotions(client) == ([1], [])


async def test_what_an_assistant_recalled_is_no_source(client):
    echo = {"role": "assistant", "name": "Amy", "content": "[memory] allergic to walnuts", "session": "D1"}
    await remember(client, ALLERGY, {**echo, "id": "m5", "session": "D2"}, {**echo, "id": "m8"})
    await ask_all(client)
    sources, promoted = await promotions(client)
    assert max(sources) == 1 and promoted == []


async def test_three_statements_in_three_sessions_promote_once(client):
    said = ["I am allergic to walnuts.", "No walnuts for me, allergy.", "Walnuts would put me in hospital."]
    places = ["D1:1", "D4:2", "D9:1"]
    for number, (place, text) in enumerate(zip(places, said, strict=True)):
        at = f"2024-0{number + 1}-10T09:00:00"
        message = {"id": place, "content": text, "name": "Amy", "session": place[:2], "timestamp": at}
        await remember(client, message)
    await ask_all(client)
    once = await promotions(client)
    assert max(once[0]) == 3 and len(once[1]) == 1
    await ask_all(client)
    assert await promotions(client) == once
    (fact,) = await listed(client, "/v1/memories", track="active")
    assert set(fact["message_ids"]) == set(places)


# MC-18: odd characters, as they come over the wire. JSON may escape half a character, and no text holds one.

ODD = [
    r"half high \ud83d end",
    r"half low \udc4d end",
    r"escaped pair \ud83c\udf78 ok",
    r"nul\u0000inside",
    r"\u202edetsurt si siht\u202c",
    r"zero\u200bwidth\u2060word",
    "הכלב שלי Rex בן 3",
    "plain text",
]
KEPT = [
    "half high \ufffd end",
    "half low \ufffd end",
    "escaped pair \N{COCKTAIL GLASS} ok",
    "nulinside",
    "\u202edetsurt si siht\u202c",
    "zero\u200bwidth\u2060word",
    "הכלב שלי Rex בן 3",
    "plain text",
]


async def test_odd_characters_arrive_and_leave_as_valid_text(client, embedder):
    messages = ",".join(f'{{"id": "m{n}", "content": "{text}"}}' for n, text in enumerate(ODD, start=1))
    body = f'{{"conversation_id": "c1", "wait": true, "messages": [{messages}]}}'.encode()
    reply = await client.post("/v1/memories", content=body, headers={"content-type": "application/json"})
    assert (reply.status_code, reply.json()["status"], reply.json()["accepted"]) == (200, "done", 8)
    assert await contents(client) == KEPT
    assert all(text.encode("utf-8") for text in embedder.texts)
    for query, found in (("zerowidthword", "m6"), ("detsurt", "m5"), ("Rex", "m7"), ("plain text", "m8")):
        reply = await client.post("/v1/search", json={"conversation_id": "c1", "query": query})
        reply.content.decode("utf-8")
        assert found in reply.json()["results"][0]["message_ids"], query


async def test_a_query_may_hold_odd_characters_too(client):
    await remember(client, "plain text")
    body = rb'{"conversation_id": "c1", "query": "plain \ud83d te\u0000xt"}'
    reply = await client.post("/v1/search", content=body, headers={"content-type": "application/json"})
    assert reply.status_code == 200 and reply.json()["results"], reply.text


async def test_a_bundle_of_odd_characters_is_valid_json_in_utf8(client):
    await remember(client, *[json.loads(f'"{text}"') for text in (ODD[2], ODD[4], ODD[7])])
    bundle = (await client.get("/v1/export", params={"conversation_id": "c1"})).content.decode("utf-8")
    assert [m["content"] for m in json.loads(bundle)["messages"]] == [KEPT[2], KEPT[4], KEPT[7]]


# MC-19: nothing comes of nothing.

BLANKS = ["", " \n\t\u00a0", "\u200b"]


@pytest.mark.parametrize("blank", BLANKS)
async def test_a_blank_message_is_refused_and_nothing_of_its_request_is_stored(client, blank):
    await remember(client, "Hello Uma")
    body = {"conversation_id": "c1", "messages": ["Bye", blank], "wait": True}
    reply = await client.post("/v1/memories", json=body)
    assert (reply.status_code, reply.json()["error"]["param"]) == (422, "messages.1.content")
    assert await contents(client) == ["Hello Uma"]
    assert len(await listed(client, "/v1/segments")) == 1


@pytest.mark.parametrize("blank", BLANKS)
async def test_a_blank_query_or_question_is_refused_and_embeds_nothing(client, embedder, blank):
    await remember(client, "Hello Uma")
    before = list(embedder.texts)
    for path, name in (("/v1/search", "query"), ("/v1/answer", "question")):
        reply = await client.post(path, json={"conversation_id": "c1", name: blank})
        assert (reply.status_code, reply.json()["error"]["param"]) == (422, name)
    assert embedder.texts == before
    assert await listed(client, "/v1/candidates") == []


async def test_no_messages_and_no_conversation(client):
    reply = await client.post("/v1/memories", json={"conversation_id": "c1", "messages": []})
    assert reply.status_code == 422
    found = await client.post("/v1/search", json={"conversation_id": "c1", "query": "Uma"})
    assert found.status_code == 200 and found.json()["results"] == []
    reply = await client.get("/v1/memories", params={"conversation_id": "c1"})
    assert reply.status_code == 404
