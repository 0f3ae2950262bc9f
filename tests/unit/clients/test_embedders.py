"""Vectors keep to their texts, and unusable ones go nowhere (MC-19, MC-22)."""

import asyncio
import random
import socket
from concurrent.futures import ProcessPoolExecutor
from contextlib import asynccontextmanager
from multiprocessing import get_context

import numpy as np
import pytest
import uvicorn
from fastapi import FastAPI, Response

from memsif_ray.clients.embedders import HttpEmbedder, SentenceTransformerEmbedder, make_embedder
from memsif_ray.clients.embedding_cache import CachedEmbedder
from memsif_ray.clients.retries import RetryPolicy
from memsif_ray.clients.vectors import check_same_embedder, unit_rows
from memsif_ray.config import EmbedderConfig
from memsif_ray.errors import ConfigError, EmbedderMismatch, RequestRefused, ServiceBusy, ServiceError

PATIENT = RetryPolicy(20.0, sleep=lambda _seconds: asyncio.sleep(0))
"""Gives up after some tries, which no pause holds up."""


class SeededEmbedder:
    """A direction per text, always the same one; counts what it is asked."""

    def __init__(self, model_id="seeded", dim=8):
        self.model_id = model_id
        self.dim = dim
        self.asked = []

    async def embed(self, texts):
        self.asked.extend(texts)
        return np.array([direction(text, self.dim) for text in texts], dtype=np.float32)


class BrokenEmbedder(SeededEmbedder):
    """Gives `bad` for the second text."""

    def __init__(self, bad):
        super().__init__()
        self.bad = bad

    async def embed(self, texts):
        rows = list(await super().embed(texts))
        return [rows[0], self.bad, *rows[2:]]


def direction(text, dim):
    row = np.random.default_rng(list(text.encode())).normal(size=dim)
    return row / np.linalg.norm(row)


BAD_VECTORS = {
    "nan": [np.nan] * 8,
    "infinite": [np.inf] * 8,
    "zero": [0.0] * 8,
    "short": [1.0] * 6,
    "empty": [],
}


def test_rows_become_unit_float32():
    rows = unit_rows([[3, 4], [0, 2]], 2, None, "m")
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 1]], rtol=1e-6)


@pytest.mark.parametrize("bad", BAD_VECTORS.values(), ids=BAD_VECTORS)
def test_vector_without_direction_is_refused(bad):
    with pytest.raises(ServiceError):
        unit_rows([[1.0] * 8, bad], 2, None, "m")


def test_missing_vector_and_changed_size_are_refused():
    with pytest.raises(ServiceError):
        unit_rows([[1.0, 0.0]], 2, None, "m")
    with pytest.raises(ServiceError):
        unit_rows([[1.0, 0.0]], 1, 3, "m")


def test_mismatch_names_both_models_and_sizes():
    check_same_embedder("emb-a", 8, "emb-a", 8)
    for model, dim in (("emb-b", 6), ("emb-c", 8), ("emb-a", 6)):
        with pytest.raises(EmbedderMismatch, match=rf"emb-a.*8.*{model}.*{dim}"):
            check_same_embedder("emb-a", 8, model, dim)


async def test_cache_row_belongs_to_text_whatever_was_cached(tmp_path):
    embedder = SeededEmbedder()
    cached = CachedEmbedder(embedder, tmp_path)
    await cached.embed(["b", "d"])
    rows = await cached.embed(["a", "b", "c", "b", "d", "a"])
    np.testing.assert_allclose(rows, [direction(text, 8) for text in "abcbda"], rtol=1e-5)
    assert embedder.asked == ["b", "d", "a", "c"]


async def test_cache_outlives_the_process_and_keeps_models_apart(tmp_path):
    await CachedEmbedder(SeededEmbedder(), tmp_path).embed(["a"])
    again, other = SeededEmbedder(), SeededEmbedder("other", dim=6)
    await CachedEmbedder(again, tmp_path).embed(["a"])
    rows = await CachedEmbedder(other, tmp_path).embed(["a"])
    assert (again.asked, other.asked, rows.shape) == ([], ["a"], (1, 6))


async def test_same_name_with_another_size_is_refused_before_writing(tmp_path):
    await CachedEmbedder(SeededEmbedder(dim=8), tmp_path).embed(["a"])
    smaller = CachedEmbedder(SeededEmbedder(dim=6), tmp_path)
    with pytest.raises(EmbedderMismatch):
        await smaller.embed(["a", "b"])
    fresh = SeededEmbedder(dim=8)
    await CachedEmbedder(fresh, tmp_path).embed(["b"])
    assert fresh.asked == ["b"]


@pytest.mark.parametrize("bad", BAD_VECTORS.values(), ids=BAD_VECTORS)
async def test_nothing_of_a_bad_batch_is_cached(tmp_path, bad):
    with pytest.raises(ServiceError):
        await CachedEmbedder(BrokenEmbedder(bad), tmp_path).embed(["a", "b", "c"])
    embedder = SeededEmbedder()
    await CachedEmbedder(embedder, tmp_path).embed(["a", "b", "c"])
    assert embedder.asked == ["a", "b", "c"]


@pytest.mark.parametrize("blank", ["", " \n\t\u00a0", "\u200b"])
async def test_blank_text_is_the_callers_mistake(tmp_path, blank):
    with pytest.raises(ValueError, match="text 1 is blank"):
        await CachedEmbedder(SeededEmbedder(), tmp_path).embed(["Hello Uma", blank, "Bye"])


async def test_no_text_no_rows(tmp_path):
    assert (await CachedEmbedder(SeededEmbedder(), tmp_path).embed([])).shape == (0, 0)


def _embed_in_process(folder, texts):
    return asyncio.run(CachedEmbedder(SeededEmbedder(), folder).embed(texts))


def test_processes_share_the_cache(tmp_path):
    texts = [f"text {number}" for number in range(200)]
    orders = [random.Random(seed).sample(texts, len(texts)) for seed in range(4)]
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        for order, rows in zip(orders, pool.map(_embed_in_process, [tmp_path] * 4, orders), strict=True):
            np.testing.assert_allclose(rows, [direction(text, 8) for text in order], rtol=1e-5)


@asynccontextmanager
async def endpoint(answer):
    """A real server on a free port whose embeddings are `answer(texts)`; yields its base URL."""
    app = FastAPI()

    @app.post("/v1/embeddings")
    async def embeddings(body: dict):
        given = answer(body["input"])
        if isinstance(given, Response):
            return given
        return {"object": "list", "model": body["model"], "data": given, "usage": {}}

    server = uvicorn.Server(uvicorn.Config(app, port=0, log_level="error"))
    serving = asyncio.create_task(server.serve())
    while not server.started:
        await asyncio.sleep(0.01)
    port = server.servers[0].sockets[0].getsockname()[1]
    try:
        yield f"http://127.0.0.1:{port}/v1"
    finally:
        server.should_exit = True
        await serving


def items(texts, order=None):
    rows = [
        {"object": "embedding", "index": place, "embedding": direction(text, 8).tolist()}
        for place, text in enumerate(texts)
    ]
    return rows if order is None else [rows[place] for place in order]


async def test_http_batches_come_back_in_any_order():
    sizes = []

    def backwards(texts):
        sizes.append(len(texts))
        return items(texts, range(len(texts))[::-1])

    texts = [f"text {number}" for number in range(150)] + ["text 3"]
    async with endpoint(backwards) as base_url:
        embedder = HttpEmbedder(EmbedderConfig(base_url=base_url, model="remote"))
        rows = await embedder.embed(texts)
        await embedder.aclose()
    np.testing.assert_allclose(rows, [direction(text, 8) for text in texts], rtol=1e-5)
    assert sorted(sizes) == [22, 64, 64]


@pytest.mark.parametrize(
    "answer",
    [
        lambda texts: items(texts)[:-1],
        lambda texts: [*items(texts)[:-1], items(texts)[0]],
        lambda texts: [item | {"embedding": [0.0] * 8} for item in items(texts)],
    ],
    ids=["one too few", "one index twice", "zero vectors"],
)
async def test_http_refuses_an_incomplete_answer(answer):
    async with endpoint(answer) as base_url:
        config = EmbedderConfig(base_url=base_url, model="remote")
        embedder = HttpEmbedder(config, retry=RetryPolicy(5.0))
        with pytest.raises(ServiceError):
            await embedder.embed(["a", "b", "c"])
        await embedder.aclose()


@pytest.mark.parametrize(
    ("status", "body", "kind", "code"),
    [
        (
            400,
            '{"error": {"message": "prompt is too long", "code": 400}}',
            RequestRefused,
            "context_length_exceeded",
        ),
        (401, '{"error": {"message": "who?", "code": "invalid_api_key"}}', RequestRefused, "invalid_api_key"),
        (
            429,
            '{"error": {"message": "pay", "code": "insufficient_quota"}}',
            RequestRefused,
            "insufficient_quota",
        ),
        (503, "<html>nothing here</html>", ServiceBusy, "http_503"),
        (200, "<html>a proxy's page</html>", ServiceBusy, "broken_reply"),
        (200, '{"hello": "world"}', ServiceError, "not_openai"),
    ],
)
async def test_a_failing_endpoint_is_named_by_its_code(status, body, kind, code):
    async with endpoint(lambda _texts: Response(body, status_code=status)) as base_url:
        config = EmbedderConfig(base_url=base_url, model="remote")
        embedder = HttpEmbedder(config, retry=PATIENT)
        with pytest.raises(kind) as caught:
            await embedder.embed(["a"])
        await embedder.aclose()
    assert caught.value.code == code


async def test_nobody_at_the_address_is_busy_not_wrong():
    with socket.create_server(("127.0.0.1", 0)) as probe:
        free = probe.getsockname()[1]
    config = EmbedderConfig(base_url=f"http://127.0.0.1:{free}/v1", model="remote")
    embedder = HttpEmbedder(config, retry=PATIENT)
    with pytest.raises(ServiceBusy) as caught:
        await embedder.embed(["a"])
    await embedder.aclose()
    assert caught.value.code == "connection"


async def test_local_folder_that_is_no_model_is_a_config_error(tmp_path):
    with pytest.raises(ConfigError, match="cannot load"):
        await SentenceTransformerEmbedder(str(tmp_path)).embed(["a"])


@pytest.mark.model
async def test_real_model_knows_what_is_alike(tmp_path):
    embedder = make_embedder(EmbedderConfig(), tmp_path)
    rows = await embedder.embed(
        ["My cat had kittens.", "The share price fell.", "Our kitten is a month old."]
    )
    assert rows.shape == (3, 384)
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, rtol=1e-5)
    assert rows[0] @ rows[2] > rows[0] @ rows[1] + 0.2
