"""The chat model behind the API, against a real local endpoint."""

import httpx
import pytest
from fastapi import FastAPI
from fastapi.responses import StreamingResponse

from memsif_ray.clients.chat_upstream import HttpUpstream
from memsif_ray.clients.scripted_server import Fault, in_order, scripted_server
from memsif_ray.config import ModelConfig
from memsif_ray.errors import ConfigError, RequestRefused, ServiceBusy, ServiceError

BODY = {"model": "scripted", "messages": [{"role": "user", "content": "Comet is a dog."}], "top_p": 0.5}


async def asked(server, *, deadline_s=10.0):
    upstream = HttpUpstream(ModelConfig(base_url=server.base_url, model="scripted", deadline_s=deadline_s))
    try:
        return await upstream.complete(BODY)
    finally:
        await upstream.aclose()


async def test_a_completion_and_the_models_come_as_they_are():
    with scripted_server() as server:
        reply = await asked(server)
        assert reply["choices"][0]["message"]["content"] == "Comet is a dog."
        assert server.bodies == [BODY]
        upstream = HttpUpstream(ModelConfig(base_url=server.base_url, model="scripted"))
        assert [model["id"] for model in await upstream.models()] == ["scripted"]
        await upstream.aclose()


def streaming(*lines):
    """An endpoint that sends these lines of a stream."""
    app = FastAPI()

    @app.post("/v1/chat/completions")
    async def stream():
        return StreamingResponse((f"{line}\n\n" for line in lines), media_type="text/event-stream")

    config = ModelConfig(base_url="http://test/v1", model="scripted")
    return HttpUpstream(config, transport=httpx.ASGITransport(app=app))


async def test_a_stream_comes_in_its_chunks():
    upstream = streaming('data: {"n": 1}', ": a comment", 'data:{"n": 2}', "data: [DONE]")
    assert [chunk async for chunk in upstream.stream({**BODY, "stream": True})] == [{"n": 1}, {"n": 2}]


async def test_a_broken_chunk_is_an_error_after_the_good_ones():
    seen = []
    with pytest.raises(ServiceError) as failed:
        async for chunk in streaming('data: {"n": 1}', "data: {").stream(BODY):
            seen.append(chunk)
    assert (seen, failed.value.code) == ([{"n": 1}], "not_json")


async def test_a_refused_stream_says_why():
    with scripted_server(faults=in_order(Fault(status=400, code="content_filter"))) as server:
        upstream = HttpUpstream(ModelConfig(base_url=server.base_url, model="scripted"))
        with pytest.raises(RequestRefused) as failed:
            async for _ in upstream.stream(BODY):
                pass
        await upstream.aclose()
    assert failed.value.code == "content_filter"


@pytest.mark.parametrize(
    ("fault", "kind", "code", "pause"),
    [
        (
            Fault(status=429, code="rate_limit_exceeded", retry_after="7"),
            ServiceBusy,
            "rate_limit_exceeded",
            7,
        ),
        (Fault(status=503), ServiceBusy, "http_503", None),
        (Fault(status=400, code="context_length_exceeded"), RequestRefused, "context_length_exceeded", None),
        (Fault(drop=True), ServiceBusy, "model_unreachable", None),
        (Fault(raw="<html>"), ServiceError, "not_json", None),
    ],
)
async def test_a_failure_is_sent_once_and_says_who_must_act(fault, kind, code, pause):
    with scripted_server(faults=in_order(fault)) as server:
        with pytest.raises(kind) as failed:
            await asked(server)
        assert (failed.value.code, failed.value.retry_after_s) == (code, pause)
        assert len(server.bodies) == 1


async def test_a_model_that_is_silent_for_too_long_is_a_timeout():
    with scripted_server(faults=in_order(Fault(hang_s=30))) as server:
        with pytest.raises(ServiceBusy) as failed:
            await asked(server, deadline_s=0.2)
        assert failed.value.code == "timeout"


def test_an_endpoint_must_be_named():
    with pytest.raises(ConfigError, match="base_url"):
        HttpUpstream(ModelConfig())
