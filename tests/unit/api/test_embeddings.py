"""`/v1/embeddings` as an OpenAI client sees it."""

import base64

import numpy as np
import openai
import pytest

from memsif_ray.api.app import make_app
from memsif_ray.api.routes.embeddings import MAX_TEXTS
from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.errors import ServiceBusy
from tests.unit.api.conftest import SECRETS, FewKeys, client_of
from tests.unit.api.small_backend import SmallBackend

TEXTS = ["I like tea.", "I moved to Utrecht.", "I like tea."]


class Busy(HashEmbedder):
    async def embed(self, texts):
        raise ServiceBusy("no embedder today", "http_503", retry_after_s=7)


@pytest.fixture
async def amy():
    async with client_of(
        make_app(SmallBackend(), FewKeys(), embedder=HashEmbedder(8)), SECRETS["T1"]
    ) as client:
        yield client


async def test_openais_own_client_gets_the_vectors_in_order(amy):
    expected = await HashEmbedder(8).embed(TEXTS)
    client = openai.AsyncOpenAI(
        api_key=SECRETS["T1"], base_url="http://localhost/v1", http_client=amy, max_retries=0
    )
    for encoding in ("float", "base64"):
        reply = await client.embeddings.create(model="hash-8", input=TEXTS, encoding_format=encoding)
        assert [item.index for item in reply.data] == [0, 1, 2]
        numbers = [
            np.frombuffer(base64.b64decode(item.embedding), "<f4") if encoding == "base64" else item.embedding
            for item in reply.data
        ]
        np.testing.assert_allclose(numbers, expected, rtol=1e-6)
    default = await client.embeddings.create(model="hash-8", input="I like tea.")
    np.testing.assert_allclose([default.data[0].embedding], expected[:1], rtol=1e-6)
    assert default.usage.total_tokens > 0
    assert "memsif_embedded_texts_total 7.0" in (await amy.get("/metrics")).text


@pytest.mark.parametrize(
    ("body", "status", "param"),
    [
        ({"model": "other", "input": "x"}, 404, "model"),
        ({"model": "hash-8", "input": " \u200b"}, 422, "input.0"),
        ({"model": "hash-8", "input": []}, 422, "input"),
        ({"model": "hash-8", "input": ["x"] * (MAX_TEXTS + 1)}, 422, "input"),
        ({"model": "hash-8", "input": [[1, 2]]}, 422, "input.0"),
        ({"model": "hash-8", "input": "x", "dimensions": 4}, 422, "dimensions"),
        ({"model": "hash-8", "input": "x", "tenant": "T2"}, 403, "tenant"),
    ],
)
async def test_what_cannot_be_embedded_is_refused_by_name(amy, body, status, param):
    reply = await amy.post("/v1/embeddings", json=body)
    assert (reply.status_code, reply.json()["error"]["param"]) == (status, param), reply.text


async def test_a_busy_embedder_is_told_with_a_pause():
    app = make_app(SmallBackend(), FewKeys(), embedder=Busy(8))
    async with client_of(app, SECRETS["T1"]) as client:
        reply = await client.post("/v1/embeddings", json={"model": "hash-8", "input": "x"})
    assert (reply.status_code, reply.headers["retry-after"]) == (503, "7")


async def test_nobody_without_a_key_and_nothing_without_an_embedder(app_with):
    body = {"model": "hash-8", "input": "x"}
    async with client_of(make_app(SmallBackend(), FewKeys(), embedder=HashEmbedder(8))) as stranger:
        assert (await stranger.post("/v1/embeddings", json=body)).status_code == 401
    async with client_of(app_with(), SECRETS["T1"]) as client:
        assert (await client.post("/v1/embeddings", json=body)).status_code == 404
