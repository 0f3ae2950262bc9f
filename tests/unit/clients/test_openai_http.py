"""The HTTP client against a real local server. Inputs of MC-02, MC-29 and MC-30."""

import asyncio
import json
import pickle
import random
import time
from contextlib import aclosing

import pytest

from memsif_ray.clients.openai_http import NO_KEY, STRUCTURED_OUTPUT_REFUSED, OpenAIChat
from memsif_ray.clients.retries import RetryPolicy
from memsif_ray.clients.scripted_server import Fault, in_order, scripted_server
from memsif_ray.config import ModelConfig
from memsif_ray.errors import ConfigError, RequestRefused, ServiceBusy
from memsif_ray.types import ChatRequest

LABEL = {
    "type": "object",
    "properties": {"label": {"type": "string", "enum": ["CORRECT", "WRONG"]}},
    "required": ["label"],
    "additionalProperties": False,
}
SCHEMA_400 = Fault(400, message="Invalid schema for response_format 'answer'")


def asking(user="Where is the oboe?", **settings):
    return ChatRequest(
        **{"stage": "answer", "system": "Be brief.", "user": user, "max_tokens": 64, **settings}
    )


def client(server, *, pauses=None, attempt_s=None, **settings):
    config = ModelConfig(base_url=server.base_url, **{"model": "m", "deadline_s": 20.0, **settings})

    async def pause(seconds):
        if pauses is not None:
            pauses.append(seconds)

    policy = RetryPolicy(config.deadline_s, attempt_s=attempt_s, sleep=pause, rng=random.Random(1))
    return aclosing(OpenAIChat(config, retry=policy))


async def test_a_reply_keeps_what_the_server_reported():
    with scripted_server(lambda request: f"heard {request.user}", model="served-name") as server:
        async with client(server) as chat:
            reply = await chat.complete(asking())
    assert (reply.content, reply.finish_reason, reply.model) == (
        "heard Where is the oboe?",
        "stop",
        "served-name",
    )
    assert (
        reply.prompt_tokens > 0
        and reply.completion_tokens > 0
        and reply.latency_s > 0
        and reply.attempts == 1
    )
    sent = server.bodies[0]
    assert (sent["max_tokens"], sent["temperature"], sent["seed"]) == (64, 0.0, 0)
    assert "response_format" not in sent and "chat_template_kwargs" not in sent


async def test_an_endpoint_must_be_named():
    with pytest.raises(ConfigError, match="base_url"):
        OpenAIChat(ModelConfig())


async def test_local_servers_get_a_placeholder_key(monkeypatch):
    monkeypatch.delenv("SOME_KEY", raising=False)
    assert OpenAIChat(ModelConfig(base_url="http://h/v1", api_key_env="SOME_KEY"))._client.api_key == NO_KEY
    monkeypatch.setenv("SOME_KEY", "abc")
    assert OpenAIChat(ModelConfig(base_url="http://h/v1", api_key_env="SOME_KEY"))._client.api_key == "abc"


async def test_null_content_stays_null_and_reasoning_is_never_mined():
    """MC-02 d."""
    with scripted_server(faults=in_order(Fault(null_content='so it is {"operations": []}'))) as server:
        async with client(server) as chat:
            reply = await chat.complete(asking())
    assert (reply.content, reply.finish_reason) == (None, "length")


# Log-probabilities

COMPLETION = {
    "id": "c",
    "object": "chat.completion",
    "created": 0,
    "model": "m",
    "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "in Ghent"}, "finish_reason": "stop"}
    ],
}


def said_with(logprobs):
    choice = COMPLETION["choices"][0] | {"logprobs": logprobs}
    return Fault(raw=json.dumps(COMPLETION | {"choices": [choice]}))


async def test_log_probabilities_are_asked_for_only_when_wanted_and_averaged():
    tokens = [
        {"token": "in", "logprob": -0.5, "bytes": None, "top_logprobs": []},
        {"token": " Ghent", "logprob": -0.25, "bytes": None, "top_logprobs": []},
    ]
    given = said_with({"content": tokens, "refusal": None})
    with scripted_server(faults=in_order(given, given)) as server:
        async with client(server) as chat:
            wanted, unasked = await chat.complete(asking(logprobs=True)), await chat.complete(asking())
    assert (wanted.mean_logprob, unasked.mean_logprob) == (-0.375, None)
    assert server.bodies[0]["logprobs"] is True and "logprobs" not in server.bodies[1]


@pytest.mark.parametrize("logprobs", [None, {"content": None}, {"content": []}])
async def test_a_server_that_gives_no_log_probabilities_is_none(logprobs):
    with scripted_server(faults=in_order(said_with(logprobs))) as server:
        async with client(server) as chat:
            reply = await chat.complete(asking(logprobs=True))
    assert (reply.content, reply.mean_logprob) == ("in Ghent", None)


async def test_a_server_that_refuses_log_probabilities_is_not_asked_again():
    refusal = Fault(400, message="logprobs is not supported by this model")
    refuses = lambda arrival, body: refusal if "logprobs" in body else None  # noqa: E731
    with scripted_server(lambda request: "Ghent", faults=refuses) as server:
        async with client(server) as chat:
            replies = [await chat.complete(asking(logprobs=True)) for _ in range(2)]
    assert [(reply.content, reply.mean_logprob, reply.attempts) for reply in replies] == [
        ("Ghent", None, 1)
    ] * 2
    assert ["logprobs" in body for body in server.bodies] == [True, False, False]


# Structured output


async def test_a_server_that_takes_schemas_gets_them():
    with scripted_server() as server:
        async with client(server) as chat:
            reply = await chat.complete(asking(schema=LABEL))
    assert json.loads(reply.content)["label"] in {"CORRECT", "WRONG"}
    assert server.bodies[0]["response_format"]["json_schema"] == {
        "name": "answer",
        "schema": LABEL,
        "strict": True,
    }


async def test_auto_falls_back_to_the_prompt_for_good():
    refuses = lambda arrival, body: SCHEMA_400 if "response_format" in body else None  # noqa: E731
    with scripted_server(faults=refuses) as server:
        async with client(server) as chat:
            replies = [await chat.complete(asking(schema=LABEL)) for _ in range(3)]
    assert [reply.attempts for reply in replies] == [1, 1, 1]
    assert ["response_format" in body for body in server.bodies] == [True, False, False, False]
    assert json.dumps(LABEL) in server.bodies[1]["messages"][0]["content"]


async def test_auto_falls_back_when_many_first_calls_are_refused_together():
    refuses = lambda arrival, body: SCHEMA_400 if "response_format" in body else None  # noqa: E731
    with scripted_server(faults=refuses, latency_s=0.02) as server:
        async with client(server, max_in_flight=8) as chat:
            replies = await asyncio.gather(*(chat.complete(asking(schema=LABEL)) for _ in range(8)))
    assert all(reply.content for reply in replies)


async def test_after_one_accepted_schema_a_refusal_is_that_rows_own():
    with scripted_server(faults=in_order(None, SCHEMA_400)) as server:
        async with client(server) as chat:
            await chat.complete(asking(schema=LABEL))
            with pytest.raises(RequestRefused, match="Invalid schema") as caught:
                await chat.complete(asking(schema=LABEL))
            await chat.complete(asking(schema=LABEL))
    assert caught.value.code == "http_400"
    assert all("response_format" in body for body in server.bodies)


async def test_a_first_schema_that_must_be_taken_and_is_not_stops_the_run():
    with scripted_server(faults=in_order(SCHEMA_400)) as server:
        async with client(server, structured_output="json_schema") as chat:
            with pytest.raises(RequestRefused, match="set structured_output to auto or prompt") as caught:
                await chat.complete(asking(schema=LABEL))
    assert caught.value.code == STRUCTURED_OUTPUT_REFUSED
    assert len(server.bodies) == 1


async def test_prompt_mode_never_sends_the_field():
    with scripted_server() as server:
        async with client(server, structured_output="prompt") as chat:
            await chat.complete(asking(schema=LABEL, system=""))
    assert "response_format" not in server.bodies[0]
    assert server.bodies[0]["messages"][0]["content"].startswith("Reply with one JSON object")


# Thinking


@pytest.mark.parametrize(
    ("model", "thinking", "sent"),
    [
        ("Qwen/Qwen3-8B", False, {"enable_thinking": False}),
        ("Qwen/Qwen3-8B", True, {"enable_thinking": True}),
        ("other", True, {"enable_thinking": True}),
        ("gpt-4o-mini", False, None),
        ("qwen2.5-coder-0.5b", False, None),
    ],
)
async def test_the_thinking_switch_goes_to_models_that_have_it(model, thinking, sent):
    with scripted_server() as server:
        async with client(server, model=model, thinking=thinking) as chat:
            await chat.complete(asking())
    assert server.bodies[0].get("chat_template_kwargs") == sent


async def test_a_server_without_the_switch_is_asked_again_without_it_for_good():
    unknown = Fault(400, message="Unrecognized request argument supplied: chat_template_kwargs")
    refuses = lambda arrival, body: unknown if "chat_template_kwargs" in body else None  # noqa: E731
    with scripted_server(faults=refuses) as server:
        async with client(server, model="qwen3-32b") as chat:
            await chat.complete(asking(schema=LABEL))
            await chat.complete(asking())
    assert ["chat_template_kwargs" in body for body in server.bodies] == [True, False, False]
    assert "response_format" in server.bodies[1]


# Retries


async def test_one_retry_layer_takes_five_attempts():
    """MC-29: 429 (Retry-After 2), 429, 500, hang, 200."""
    pauses = []
    script = in_order(Fault(429, retry_after="2"), Fault(429), Fault(500), Fault(hang_s=60))
    with scripted_server(faults=script) as server:
        async with client(server, pauses=pauses, attempt_s=0.3) as chat:
            reply = await chat.complete(asking())
    assert (reply.attempts, len(server.bodies), len(pauses)) == (5, 5, 4)
    assert pauses[0] >= 2.0


async def test_a_hanging_endpoint_costs_the_deadline_and_no_more():
    with scripted_server(faults=lambda arrival, body: Fault(hang_s=60)) as server:
        async with client(server, deadline_s=0.5) as chat:
            started = time.monotonic()
            with pytest.raises(ServiceBusy, match="no reply within 0.5 s") as caught:
                await chat.complete(asking())
    assert time.monotonic() - started < 0.5 * 1.1 + 0.5  # half a second for a loaded machine
    assert (caught.value.code, caught.value.attempts) == ("timeout", 1)


async def test_a_dropped_connection_is_tried_again():
    with scripted_server(faults=in_order(Fault(drop=True))) as server:
        async with client(server) as chat:
            assert (await chat.complete(asking())).attempts == 2


async def test_a_broken_body_is_tried_again():
    with scripted_server(faults=in_order(Fault(raw='{"id": "chatc'))) as server:
        async with client(server) as chat:
            assert (await chat.complete(asking())).attempts == 2


async def test_a_reply_without_choices_has_no_content():
    empty = Fault(raw='{"id": "x", "object": "chat.completion", "choices": []}')
    with scripted_server(faults=in_order(empty)) as server:
        async with client(server) as chat:
            reply = await chat.complete(asking())
    assert (reply.content, reply.finish_reason, reply.prompt_tokens) == (None, "no_choice", None)


async def test_a_web_page_is_a_wrong_address():
    with scripted_server(faults=in_order(Fault(raw="<html>welcome</html>"))) as server:
        async with client(server) as chat:
            with pytest.raises(RequestRefused, match="check base_url"):
                await chat.complete(asking())


async def test_a_dead_endpoint_is_busy_with_its_cause():
    with scripted_server() as server:
        pass
    async with aclosing(OpenAIChat(ModelConfig(base_url=server.base_url, deadline_s=0.3))) as chat:
        with pytest.raises(ServiceBusy, match="Connect") as caught:
            await chat.complete(asking())
    assert caught.value.code == "connection"


async def test_an_exhausted_quota_is_not_tried_again():
    with scripted_server(faults=in_order(Fault(429, code="insufficient_quota"))) as server:
        async with client(server) as chat:
            with pytest.raises(RequestRefused):
                await chat.complete(asking())
    assert len(server.bodies) == 1


async def test_calls_in_flight_are_bounded():
    with scripted_server(latency_s=0.02) as server:
        async with client(server, max_in_flight=4) as chat:
            await asyncio.gather(*(chat.complete(asking(f"q{i}")) for i in range(20)))
    assert (server.max_open, server.requests["/v1/chat/completions"]) == (4, 20)


# Fault isolation

TOO_LONG = "This model's maximum context length is 2048 tokens, however you requested 4852 tokens"
FAULTS_BY_ROW = {
    "row 17": Fault(400, code="400", message=TOO_LONG),
    "row 42": Fault(400, code="content_filter", message="The prompt was filtered"),
    "row 63": SCHEMA_400,
}


async def test_one_bad_row_fails_alone():
    """MC-30: rows 17, 42, 63 are refused, row 80 loses its replica once."""
    lost = []

    def faults(arrival, body):
        row = body["messages"][-1]["content"]
        if row == "row 80" and not lost:
            lost.append(row)
            return Fault(drop=True)
        return FAULTS_BY_ROW.get(row)

    with scripted_server(faults=faults) as server:
        async with client(server) as chat:
            await chat.complete(asking("warm up", schema=LABEL))
            rows = [chat.complete(asking(f"row {i}", schema=LABEL)) for i in range(100)]
            replies = await asyncio.gather(*rows, return_exceptions=True)
    errors = {i: reply for i, reply in enumerate(replies) if isinstance(reply, Exception)}
    assert {i: (type(error), error.code) for i, error in errors.items()} == {
        17: (RequestRefused, "context_length_exceeded"),
        42: (RequestRefused, "content_filter"),
        63: (RequestRefused, "http_400"),
    }
    assert len(replies) == 100 and replies[80].attempts == 2
    assert len(server.bodies) == 1 + 100 + 1  # no refused row was sent twice
    for error in errors.values():
        copy = pickle.loads(pickle.dumps(error))
        assert (type(copy), copy.args, copy.attempts) == (type(error), error.args, 1)


async def test_attempts_survive_pickling():
    with scripted_server(faults=lambda arrival, body: Fault(503)) as server:
        async with client(server, deadline_s=3.0) as chat:
            with pytest.raises(ServiceBusy) as caught:
                await chat.complete(asking())
    assert pickle.loads(pickle.dumps(caught.value)).attempts == len(server.bodies) > 1
