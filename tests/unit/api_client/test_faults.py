"""What the clients do when the service or the way to it fails, against a real HTTP server."""

import asyncio
import json
import pickle
import socket
import time

import httpx
import pytest

from memsif_ray.api import client as api
from memsif_ray.api.client import AsyncClient, Client
from memsif_ray.errors import ConfigError, Conflict, MemsifError, NotFound
from tests.unit.api_client.faulty import Act, error, faulty_server

HOUR = "3600"


def add(url, **options):
    with Client(url, **options) as client:
        return client.add("I have a dog.", conversation_id="amy")


async def async_add(url, **options):
    async with AsyncClient(url, **options) as client:
        return await client.add("I have a dog.", conversation_id="amy")


def either(how):
    """The same call, blocking and not."""
    return {"sync": add, "async": lambda url, **options: asyncio.run(async_add(url, **options))}[how]


@pytest.fixture(params=["sync", "async"])
def adding(request):
    return either(request.param)


def test_a_busy_service_is_asked_again_under_one_key(adding):
    dropped = Act(drop=True)
    with faulty_server(error(429, retry_after="0"), error(503, retry_after="0"), dropped) as server:
        operation = adding(server.url)
    assert operation.accepted == 1
    assert len(server.asked) == 4
    assert len({asked.headers["idempotency-key"] for asked in server.asked}) == 1
    assert len({asked.headers["x-request-id"] for asked in server.asked}) == 1
    assert len({asked.body for asked in server.asked}) == 1


def test_two_adds_have_two_keys():
    with faulty_server() as server:
        add(server.url), add(server.url)
    assert len({asked.headers["idempotency-key"] for asked in server.asked}) == 2


def test_retry_after_is_waited_for(adding):
    with faulty_server(error(429, retry_after="1")) as server:
        adding(server.url)
    first, second = (asked.at for asked in server.asked)
    assert second - first >= 1.0


def test_a_longer_pause_than_the_cap_or_the_deadline_ends_the_call_at_once(adding):
    with faulty_server(error(429, retry_after=HOUR), error(503, retry_after="50")) as server:
        with pytest.raises(api.RateLimitError) as of_hour:
            adding(server.url)
        with pytest.raises(api.UnavailableError) as of_deadline:
            adding(server.url, timeout=30)
    assert (of_hour.value.retry_after_s, of_deadline.value.retry_after_s) == (3600.0, 50.0)
    assert len(server.asked) == 2


def test_tries_are_counted_and_bounded(adding):
    busy = error(503, retry_after="0")
    with faulty_server(*[busy] * 9) as server, pytest.raises(api.UnavailableError) as failed:
        adding(server.url, max_retries=2)
    assert failed.value.attempts == len(server.asked) == 3


def test_a_hanging_service_ends_at_the_deadline(adding):
    with faulty_server(Act(hang_s=60)) as server:
        began = time.monotonic()
        with pytest.raises(api.APITimeoutError) as failed:
            adding(server.url, timeout=0.5)
        assert time.monotonic() - began < 30  # not the minute of the server
    assert failed.value.status is None
    assert failed.value.attempts == 1
    assert failed.value.request_id == server.asked[0].headers["x-request-id"]


def test_a_trickling_reply_ends_at_the_deadline(adding):
    with faulty_server(Act(trickle_s=0.1)) as server:
        began = time.monotonic()
        with pytest.raises(api.APITimeoutError):
            adding(server.url, timeout=0.5)
        assert time.monotonic() - began < 15  # not the 20 s of the whole reply


def test_nobody_there(adding):
    with socket.socket() as taken:  # bound and not listening: connections are refused
        taken.bind(("127.0.0.1", 0))
        with pytest.raises(api.APIConnectionError) as failed:
            adding(f"http://127.0.0.1:{taken.getsockname()[1]}", max_retries=1, timeout=30)
    assert failed.value.attempts == 2
    assert not isinstance(failed.value, api.APITimeoutError)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (400, api.BadRequestError),
        (401, api.AuthenticationError),
        (403, api.PermissionDeniedError),
        (404, api.NotFoundError),
        (405, api.BadRequestError),
        (409, api.ConflictError),
        (412, api.ConflictError),
        (413, api.RequestTooLargeError),
        (422, api.ValidationError),
        (500, api.ServerError),
    ],
)
def test_refusals_are_typed_and_not_repeated(status, kind):
    with faulty_server(error(status, "why")) as server, pytest.raises(kind) as failed:
        add(server.url)
    assert len(server.asked) == 1
    assert (failed.value.status, failed.value.code, failed.value.request_id) == (status, "why", "r9")
    assert type(failed.value) is kind
    assert isinstance(failed.value, MemsifError)


def test_client_errors_are_domain_errors_too():
    assert issubclass(api.NotFoundError, NotFound)
    assert issubclass(api.ConflictError, Conflict)


def test_an_error_survives_pickling():
    failed = api.RateLimitError("slow down", 429, "busy", "r1", None, 2.0)
    failed.attempts = 3
    copy = pickle.loads(pickle.dumps(failed))
    assert (type(copy), copy.status, copy.retry_after_s, copy.attempts) == (api.RateLimitError, 429, 2.0, 3)
    assert str(copy) == "429 busy: slow down (request r1)"


def test_a_call_that_must_not_happen_twice_is_not_sent_twice():
    def supersede(client):
        client.supersede("mem_1", "I have a cat.")

    lost = [Act(drop=True), error(504), Act(502, "<html>proxy</html>")]
    for act, kind in zip(lost, [api.APIConnectionError, api.APITimeoutError, api.ProviderError], strict=True):
        with faulty_server(act) as server, Client(server.url) as client, pytest.raises(kind):
            supersede(client)
        assert len(server.asked) == 1


def test_a_model_failure_that_the_service_reports_is_tried_again():
    with faulty_server(error(502, "model_failed"), error(504, "timeout")) as server:
        add(server.url)
    assert len(server.asked) == 3


def test_a_question_that_teaches_is_not_asked_twice_by_accident():
    answer = Act(body={"answer": "Comet", "evidence": [], "sufficient": True})
    with faulty_server(error(504), answer, error(504)) as server, Client(server.url) as client:
        assert client.answer("Who?", conversation_id="amy", learn=False).answer == "Comet"
        with pytest.raises(api.APITimeoutError):
            client.answer("Who?", conversation_id="amy")
    assert len(server.asked) == 3


def test_health_is_asked_once():
    unready = error(503, "not_ready", retry_after="0")
    with (
        faulty_server(unready) as server,
        Client(server.url) as client,
        pytest.raises(api.UnavailableError, match="not_ready"),
    ):
        client.health()
    assert len(server.asked) == 1


def test_another_server_is_recognised():
    with faulty_server(Act(body="<html>hello</html>"), Act(301, "", {"location": "/x"})) as server:
        with pytest.raises(api.UnexpectedReplyError, match="base_url"):
            add(server.url)
        with pytest.raises(api.UnexpectedReplyError):
            add(server.url)


def test_what_a_newer_service_adds_is_ignored():
    reply = Act(body={**json.loads(json.dumps(Act().body)), "priority": 3})
    with faulty_server(reply) as server:
        assert add(server.url).id == "op_1"


def test_bad_arguments_cost_no_round_trip():
    with faulty_server() as server, Client(server.url) as client:
        for wrong in (
            lambda: client.add("   ", conversation_id="amy"),
            lambda: client.add([], conversation_id="amy"),
            lambda: client.add("x", conversation_id=""),
            lambda: client.add("x", conversation_id="*"),
            lambda: client.add("x", conversation_id="amy", idempotency_key="two words"),
            lambda: client.search("x", conversation_id="amy", top_k=3, max_tokens=9),
            lambda: client.search("x", conversation_id="amy", top_k=0),
            lambda: client.list("*"),
            lambda: client.list("amy", page_size=0),
            lambda: client.get(""),
            lambda: client.delete(".."),
            lambda: client.erase("a/b"),
            lambda: client.update("mem_1"),
            lambda: client.erase_conversation("."),
        ):
            with pytest.raises(api.ValidationError) as failed:
                wrong()
            assert (failed.value.status, failed.value.code) == (None, "invalid_request")
            assert (
                failed.value.param or "nothing to change" in str(failed.value) or "top_k" in str(failed.value)
            )
    assert not server.asked


def test_address_and_key_come_from_the_environment(monkeypatch):
    with faulty_server() as server:
        monkeypatch.setenv("MEMSIF_RAY_BASE_URL", f"{server.url}/v1/")
        monkeypatch.setenv("MEMSIF_RAY_API_KEY", "msk_secret\n")
        with Client() as client:
            client.add("x", conversation_id="amy")
        with Client(api_key="msk_other") as client:
            client.add("x", conversation_id="amy")
    assert [asked.url for asked in server.asked] == ["/v1/memories"] * 2
    keys = [asked.headers["authorization"] for asked in server.asked]
    assert keys == ["Bearer msk_secret", "Bearer msk_other"]


@pytest.mark.parametrize("url", ["localhost:8000", "ftp://x", "http://", "http://x:y"])
def test_an_impossible_address_is_refused(url):
    with pytest.raises(ConfigError, match="base_url"):
        Client(url)


def test_a_key_is_never_shown():
    with pytest.raises(ConfigError) as failed:
        Client("http://x", "geheim\x00")
    assert "geheim" not in str(failed.value)
    assert "msk_1" not in repr(Client("http://x", "msk_1")._connection)


def test_a_client_of_ones_own_stays_open():
    with httpx.Client() as http, faulty_server() as server:
        with Client(server.url, http_client=http) as client:
            client.add("x", conversation_id="amy")
        assert not http.is_closed
