"""The embedded model as a Serve application on a real local Ray."""

import asyncio

import httpx
import pytest
import ray

from memsif_ray.clients.embedders import make_embedder
from memsif_ray.clients.openai_http import OpenAIChat
from memsif_ray.clients.tokens import ServedTokenCounter
from memsif_ray.config import EmbedderConfig, ExecutionConfig, ModelConfig
from memsif_ray.errors import ConfigError, RequestRefused
from memsif_ray.runtime.model_server import start_model_server
from memsif_ray.runtime.session import ray_session
from memsif_ray.types import ChatRequest

pytestmark = [pytest.mark.ray, pytest.mark.model]

SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}


def question(text, schema=None):
    return ChatRequest(stage="answer", system="You are helpful.", user=text, max_tokens=40, schema=schema)


@pytest.fixture(scope="module")
def endpoint():
    with ray_session(ExecutionConfig()), start_model_server(ModelConfig(), EmbedderConfig()) as endpoint:
        yield endpoint


def test_no_cpu_is_taken_from_the_shards(endpoint):
    assert ray.available_resources().get("CPU") == ray.cluster_resources()["CPU"]


def test_clients_of_the_project_are_served(endpoint):
    async def talk():
        model = OpenAIChat(ModelConfig(base_url=endpoint.base_url, model=endpoint.model))
        answers = await asyncio.gather(
            model.complete(question("What is the capital of France?")),
            model.complete(question("What is the capital of Spain? Answer in JSON.", SCHEMA)),
        )
        with pytest.raises(RequestRefused) as refused:
            await model.complete(question("word " * 40_000))
        await model.aclose()
        embedder = make_embedder(EmbedderConfig(base_url=endpoint.base_url, model=endpoint.embedder_model))
        return answers, refused.value.code, await embedder.embed(["one", "two", "one"])

    (free, structured), code, rows = asyncio.run(talk())
    assert "Paris" in free.content
    assert "Madrid" in structured.content
    assert structured.prompt_tokens > 10
    assert code == "context_length_exceeded"
    assert rows.shape == (3, 384)
    assert (rows[0] == rows[2]).all()


def test_tokens_are_the_models_own(endpoint):
    counter = ServedTokenCounter(ModelConfig(base_url=endpoint.base_url, model=endpoint.model))
    assert counter.count("hello world") == 2
    assert counter.exact
    counter.close()


def test_a_second_server_on_the_cluster_is_refused(endpoint):
    with (
        pytest.raises(ConfigError, match="already runs"),
        start_model_server(ModelConfig(), EmbedderConfig()),
    ):
        pass
    assert httpx.get(endpoint.base_url.removesuffix("/v1") + "/health").status_code == 200
