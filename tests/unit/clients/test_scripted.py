import asyncio
import json
from contextlib import aclosing

import httpx
import jsonschema
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.clients.openai_http import OpenAIChat
from memsif_ray.clients.scripted import HashEmbedder, ScriptedChat, reasonable
from memsif_ray.clients.scripted_server import scripted_server
from memsif_ray.config import ModelConfig
from memsif_ray.errors import ServiceBusy
from memsif_ray.ports import ChatModel, Embedder
from memsif_ray.prompts import load, names
from memsif_ray.text import is_blank
from memsif_ray.types import ChatRequest

PROMPT = """<notes>
[1] Pia: I keep bees
[2] Bram: I play the oboe
</notes>
<question>Who plays the oboe?</question>"""


def asking(user=PROMPT, **settings):
    return ChatRequest(**{"stage": "extract", "system": "s", "user": user, "max_tokens": 64, **settings})


def with_schema(schema, **settings):
    return json.loads(reasonable(asking(schema=schema, **settings)))


@pytest.mark.parametrize("prompt", names())
@pytest.mark.parametrize("attempt", range(4))
def test_every_prompt_that_ships_gets_a_valid_reply(prompt, attempt):
    schema = load(prompt).schema
    if schema is None:
        assert reasonable(asking()) == "[2] Bram: I play the oboe"
    else:
        jsonschema.validate(with_schema(schema, attempt=attempt), schema)


def test_replies_follow_the_schema_in_every_corner():
    schema = {
        "type": "object",
        "$defs": {"op": {"type": "object", "properties": {"op": {"const": "Add"}}, "required": ["op"]}},
        "properties": {
            "operations": {"type": "array", "minItems": 2, "items": {"$ref": "#/$defs/op"}},
            "notes": {"type": "array", "items": {"type": "integer"}},
            "subject": {"type": "string"},
            "statement": {"type": "string", "minLength": 3, "maxLength": 5},
            "when": {"type": ["string", "null"]},
            "either": {"anyOf": [{"type": "integer", "minimum": 3, "maximum": 4}, {"type": "null"}]},
            "score": {"type": "number", "minimum": 0.5},
            "same": {"type": "boolean"},
            "nothing": {"type": "null"},
            "none": {"type": "array", "maxItems": 0},
            "optional": {"type": "string"},
        },
        "required": [
            "operations",
            "notes",
            "subject",
            "statement",
            "when",
            "either",
            "score",
            "same",
            "nothing",
            "none",
        ],
    }
    reply = with_schema(schema)
    jsonschema.validate(reply, schema)
    assert (reply["subject"], reply["notes"]) in [("Pia", [1]), ("Bram", [2])]
    assert "optional" not in reply
    assert reply == with_schema(schema)


def test_fact_types_come_from_the_system_message():
    schema = {"type": "object", "properties": {"type": {"type": "string"}}, "required": ["type"]}
    assert with_schema(schema, system="Fact types:\n- Pet: animals\n- Job: work")["type"] in {"Pet", "Job"}


@pytest.mark.parametrize("user", ["", "<notes>\n</notes>", "what?", "[7]", "\ud800"])
def test_odd_prompts_get_a_reply_too(user):
    assert isinstance(reasonable(asking(user)), str)
    assert with_schema(load("extract").schema, user=user)["facts"]


def test_choices_differ_between_requests():
    schema = {"type": "object", "properties": {"same": {"type": "boolean"}}, "required": ["same"]}
    assert {with_schema(schema, user=f"message {i}")["same"] for i in range(20)} == {True, False}


async def test_a_scripted_model_says_fails_and_remembers():
    said = {"hello": "hi", "nothing": None, "fail": ServiceBusy("down")}
    chat = ScriptedChat(lambda request: said[request.user])
    assert isinstance(chat, ChatModel)
    reply = await chat.complete(asking("hello"))
    assert (reply.content, reply.finish_reason, reply.model) == ("hi", "stop", "scripted")
    assert reply.prompt_tokens and reply.completion_tokens
    assert (await chat.complete(asking("nothing"))).content is None
    with pytest.raises(ServiceBusy):
        await chat.complete(asking("fail"))
    assert [request.user for request in chat.requests] == ["hello", "nothing", "fail"]


async def test_similar_texts_have_similar_vectors():
    embedder = HashEmbedder()
    assert isinstance(embedder, Embedder)
    bees, more_bees, oboe = await embedder.embed(
        ["Pia keeps bees", "Pia keeps more bees", "Bram plays the oboe"]
    )
    assert bees @ more_bees > 0.7 > 0.4 > abs(bees @ oboe)
    assert (await embedder.embed([])).shape == (0, 64)
    with pytest.raises(ValueError, match="blank"):
        await embedder.embed(["tea", " \u200b"])


@given(st.lists(st.text().filter(lambda text: not is_blank(text)), min_size=1, max_size=4))
def test_no_vector_is_zero_and_all_are_deterministic(texts):
    matrix = asyncio.run(HashEmbedder().embed(texts))
    assert matrix.dtype == np.float32 and np.allclose(np.linalg.norm(matrix, axis=1), 1.0, atol=1e-5)
    assert np.array_equal(matrix, asyncio.run(HashEmbedder().embed(texts)))


async def test_the_server_queues_beyond_its_capacity():
    with scripted_server(latency_s=0.02, capacity=3) as server:
        async with aclosing(OpenAIChat(ModelConfig(base_url=server.base_url))) as chat:
            await asyncio.gather(*(chat.complete(asking()) for _ in range(12)))
    assert server.max_busy == 3 < server.max_open == 12
    assert len(server.arrivals) == len(server.bodies) == 12


async def test_the_server_lists_its_model_and_embeds():
    with scripted_server(model="tiny") as server:
        async with httpx.AsyncClient(base_url=server.base_url) as http:
            models = (await http.get("/models")).json()
            body = {"model": "tiny", "input": ["tea", "oboe"]}
            vectors = (await http.post("/embeddings", json=body)).json()
    assert [model["id"] for model in models["data"]] == ["tiny"]
    got = np.array([row["embedding"] for row in vectors["data"]], np.float32)
    assert np.allclose(got, await HashEmbedder().embed(["tea", "oboe"]))
    assert server.requests == {"/v1/models": 1, "/v1/embeddings": 1}
