"""The embedder's application on a real Serve, with the bundled model."""

import asyncio
import socket

import httpx
import numpy as np
import pytest
from ray import serve

from memsif_ray.clients.embedders import HttpEmbedder
from memsif_ray.config import EmbedderConfig, ExecutionConfig
from memsif_ray.runtime.session import ray_session
from serve.embedder import EmbedderArgs, app

pytestmark = [pytest.mark.ray, pytest.mark.model]


@pytest.fixture(scope="module")
def url():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with ray_session(ExecutionConfig()):
        serve.start(proxy_location="HeadOnly", http_options={"host": "127.0.0.1", "port": port})
        serve.run(app(EmbedderArgs(batch=8)), name="embedder", route_prefix="/embedder")
        yield f"http://127.0.0.1:{port}/embedder/v1"
        serve.shutdown()


async def test_texts_of_many_requests_share_batches_and_get_their_own_vectors(url):
    embedder = HttpEmbedder(EmbedderConfig(base_url=url, model="all-MiniLM-L6-v2"))
    texts = [f"Number {number} is a greyhound." for number in range(12)]
    alone = await embedder.embed(texts)
    assert alone.shape == (12, 384)
    pairs = await asyncio.gather(*(embedder.embed([text, texts[0]]) for text in texts))
    for number, pair in enumerate(pairs):
        np.testing.assert_allclose(pair, alone[[number, 0]], atol=1e-4)
    await embedder.aclose()


async def test_a_blank_text_spoils_only_its_own_request(url):
    async with httpx.AsyncClient(timeout=120) as client:
        bodies = [{"model": "all-MiniLM-L6-v2", "input": texts} for texts in (["fine", "  "], ["fine"])]
        blank, good = await asyncio.gather(*(client.post(f"{url}/embeddings", json=body) for body in bodies))
    assert blank.status_code == 400
    assert len(good.json()["data"]) == 1
