"""The OpenAI interface over an engine that is none: what is tested is the translation."""

import asyncio
from contextlib import asynccontextmanager

import httpx
import numpy as np
import openai
import pytest

from memsif_ray.clients.embedded.app import create_app
from memsif_ray.clients.embedded.chat import EmbeddedChat, EmbeddedCounter
from memsif_ray.clients.embedded.engine import Completion
from memsif_ray.errors import RequestRefused, ServiceBusy
from memsif_ray.types import ChatRequest

HELLO = {"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]}


class EchoEngine:
    """Says back the last message; can be told to fail or to take its time."""

    model = "tiny"
    ready = True

    def __init__(self, failure=None, slow=False):
        self.failure = failure
        self.slow = slow
        self.asked = []
        self.cancelled = asyncio.Event()

    async def generate(self, messages, max_tokens, *, temperature=0.0, seed=0, json_schema=None):
        self.asked.append(
            {
                "messages": list(messages),
                "max_tokens": max_tokens,
                "temperature": temperature,
                "seed": seed,
                "json_schema": json_schema,
            }
        )
        if self.failure:
            raise self.failure
        if self.slow:
            try:
                await asyncio.sleep(60)
            except asyncio.CancelledError:
                self.cancelled.set()
                raise
        return Completion(messages[-1]["content"], "stop", 7, 3)

    def count_tokens(self, text):
        return len(text.split())


class LengthEmbedder:
    model_id = "lengths"

    async def embed(self, texts):
        if any(not text.strip() for text in texts):
            raise ValueError("text 0 is blank")
        return np.array([[len(text), 1.0] for text in texts], dtype=np.float32)


@asynccontextmanager
async def serving(engine, embedder=None):
    transport = httpx.ASGITransport(app=create_app(engine, embedder))
    async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
        yield client


async def test_openai_client_gets_answer_and_usage():
    async with serving(EchoEngine()) as http:
        client = openai.AsyncOpenAI(base_url="http://test/v1", api_key="none", http_client=http)
        reply = await client.chat.completions.create(**HELLO, extra_body={"chat_template_kwargs": {"x": 1}})
    assert reply.choices[0].message.content == "Hello"
    assert reply.choices[0].finish_reason == "stop"
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens, reply.usage.total_tokens) == (7, 3, 10)


async def test_every_setting_reaches_the_engine():
    engine, schema = EchoEngine(), {"type": "object"}
    wanted = {"type": "json_schema", "json_schema": {"name": "answer", "schema": schema, "strict": True}}
    async with serving(engine) as client:
        body = HELLO | {"max_tokens": 9, "temperature": 0.5, "seed": 4, "response_format": wanted}
        await client.post("/v1/chat/completions", json=body)
    (asked,) = engine.asked
    assert asked == {
        "messages": HELLO["messages"],
        "max_tokens": 9,
        "temperature": 0.5,
        "seed": 4,
        "json_schema": schema,
    }


@pytest.mark.parametrize(
    ("failure", "status", "code"),
    [
        (RequestRefused("too long", "context_length_exceeded"), 400, "context_length_exceeded"),
        (RequestRefused("bad", "invalid_schema"), 400, "invalid_schema"),
        (ServiceBusy("full", "queue_full", retry_after_s=1.0), 429, "queue_full"),
        (ServiceBusy("gone", "engine_stopped"), 503, "engine_stopped"),
    ],
)
async def test_failures_have_openai_shape(failure, status, code):
    async with serving(EchoEngine(failure)) as client:
        response = await client.post("/v1/chat/completions", json=HELLO)
    assert response.status_code == status
    assert response.json()["error"]["code"] == code
    assert response.headers.get("retry-after") == ("1" if status == 429 else None)


@pytest.mark.parametrize("change", [{"messages": []}, {"stream": "?"}, {"max_tokens": 0}, {"n": 2}])
async def test_invalid_requests_never_reach_the_engine(change):
    engine = EchoEngine()
    async with serving(engine) as client:
        response = await client.post("/v1/chat/completions", json=HELLO | change)
    assert response.status_code == 400
    assert next(iter(change)) in response.json()["error"]["message"]
    assert engine.asked == []


async def test_a_client_that_wants_a_stream_gets_the_reply_in_one_piece():
    async with serving(EchoEngine()) as http:
        client = openai.AsyncOpenAI(base_url="http://test/v1", api_key="none", http_client=http)
        chunks = [chunk async for chunk in await client.chat.completions.create(**HELLO, stream=True)]
    said = [choice.delta.content for chunk in chunks for choice in chunk.choices]
    assert said == ["Hello", None]
    assert chunks[1].choices[0].finish_reason == "stop"
    assert chunks[-1].usage.total_tokens == 10


async def test_without_an_engine_only_embeddings_are_served():
    async with serving(None, LengthEmbedder()) as client:
        assert (await client.get("/health")).json() == {"ready": True}
        assert [m["id"] for m in (await client.get("/v1/models")).json()["data"]] == ["lengths"]
        assert (await client.post("/v1/chat/completions", json=HELLO)).status_code == 404
        reply = await client.post("/v1/embeddings", json={"model": "lengths", "input": ["abc"]})
        assert reply.json()["data"][0]["embedding"] == [3.0, 1.0]


async def test_json_schema_announced_but_missing_is_refused():
    async with serving(EchoEngine()) as client:
        body = HELLO | {"response_format": {"type": "json_schema"}}
        response = await client.post("/v1/chat/completions", json=body)
    assert (response.status_code, response.json()["error"]["code"]) == (400, "invalid_schema")


async def test_another_model_is_not_answered_by_this_one():
    async with serving(EchoEngine()) as client:
        response = await client.post("/v1/chat/completions", json=HELLO | {"model": "huge"})
    assert response.status_code == 404


async def test_hanging_up_cancels_the_engine_call():
    engine = EchoEngine(slow=True)
    app = create_app(engine)
    body = b'{"model": "tiny", "messages": [{"role": "user", "content": "Hello"}]}'
    events = iter([{"type": "http.request", "body": body}, {"type": "http.disconnect"}])
    sent = []

    async def receive():
        await asyncio.sleep(0.01)
        return next(events)

    async def send(message):
        sent.append(message)

    headers = [(b"content-type", b"application/json")]
    path = "/v1/chat/completions"
    scope = {"type": "http", "method": "POST", "path": path, "query_string": b"", "headers": headers}
    await app(scope, receive, send)
    await asyncio.wait_for(engine.cancelled.wait(), 5)
    assert sent[0]["status"] == 499


async def test_embeddings_as_floats_and_as_the_clients_base64():
    async with serving(EchoEngine(), LengthEmbedder()) as http:
        client = openai.AsyncOpenAI(base_url="http://test/v1", api_key="none", http_client=http)
        for options in ({}, {"encoding_format": "float"}):
            reply = await client.embeddings.create(model="lengths", input=["a", "bbb"], **options)
            assert [item.embedding for item in reply.data] == [[1.0, 1.0], [3.0, 1.0]]


async def test_blank_embedding_input_is_a_400():
    async with serving(EchoEngine(), LengthEmbedder()) as client:
        response = await client.post("/v1/embeddings", json={"model": "lengths", "input": " "})
    assert (response.status_code, response.json()["error"]["code"]) == (400, "blank_input")


async def test_models_tokenize_and_health():
    engine = EchoEngine()
    async with serving(engine, LengthEmbedder()) as client:
        models = (await client.get("/v1/models")).json()["data"]
        count = (await client.post("/tokenize", json={"text": "one two three", "prompt": "x"})).json()
        healthy = (await client.get("/health")).status_code
        engine.ready = False
        ill = (await client.get("/health")).status_code
    assert [model["id"] for model in models] == ["tiny", "lengths"]
    assert count == {"count": 3}
    assert (healthy, ill) == (200, 503)


async def test_chat_in_process():
    engine = EchoEngine()
    request = ChatRequest(
        stage="answer", system="Be brief.", user="Hi", max_tokens=5, schema={"type": "object"}
    )
    reply = await EmbeddedChat(engine).complete(request)
    assert (reply.content, reply.model, reply.prompt_tokens, reply.completion_tokens) == ("Hi", "tiny", 7, 3)
    assert [message["role"] for message in engine.asked[0]["messages"]] == ["system", "user"]
    assert EmbeddedCounter(engine).count("one two") == 2
