"""The chat model behind the API, against a real local endpoint."""

import pytest

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
