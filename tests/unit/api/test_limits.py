"""Rates, room and time; and a shutdown that loses nothing."""

import asyncio

from memsif_ray.api.rates import Buckets
from tests.unit.api.conftest import SECRETS, client_of

SEARCH = {"conversation_id": "c1", "query": "tea"}


def test_a_bucket_holds_a_minute_and_fills_evenly(clock):
    buckets = Buckets(clock)
    assert [buckets.take({"a": 2}) for _ in range(3)] == [0.0, 0.0, 30.0]
    clock.now += 15
    assert buckets.take({"a": 2}) == 15.0
    clock.now += 15
    assert buckets.take({"a": 2}) == 0.0
    clock.now += 3600
    assert [buckets.take({"a": 2}) for _ in range(3)] == [0.0, 0.0, 30.0]


def test_replicas_together_grant_no_more_than_the_limit(clock):
    replicas = [Buckets(clock, replicas=2) for _ in range(2)]
    taken = [[one.take({"a": 4}) for _ in range(3)] for one in replicas]
    assert taken == [[0.0, 0.0, 30.0]] * 2
    clock.now += 30
    assert [one.take({"a": 4}) for one in replicas] == [0.0, 0.0]


def test_a_limit_smaller_than_the_number_of_replicas_still_lets_requests_through(clock):
    buckets = Buckets(clock, replicas=2)
    assert [buckets.take({"a": 1}) for _ in range(2)] == [0.0, 120.0]
    clock.now += 120
    assert buckets.take({"a": 1}) == 0.0


def test_a_refused_request_costs_no_token(clock):
    buckets = Buckets(clock)
    assert buckets.take({"a": 1}) == 0.0
    assert buckets.take({"a": 1, "b": 1}) == 60.0
    assert buckets.take({"b": 1}) == 0.0


async def test_a_tenant_that_asks_too_fast(app_with, clock):
    app = app_with(per_minute=3)
    async with client_of(app, SECRETS["T1"]) as client, client_of(app, SECRETS["T2"]) as other:
        statuses = [(await client.get("/v1/usage")).status_code for _ in range(4)]
        refused = await client.get("/v1/usage")
        assert statuses == [200, 200, 200, 429]
        assert refused.headers["retry-after"] == "20"
        assert refused.json()["error"]["type"] == "rate_limit_error"
        assert (await other.get("/v1/usage")).status_code == 200
        assert (await client.get("/health/live")).status_code == 200
        clock.now += 20
        assert (await client.get("/v1/usage")).status_code == 200


async def test_a_key_may_have_its_own_limit(app_with):
    app = app_with()
    async with client_of(app, SECRETS["slow"]) as client, client_of(app, SECRETS["T1"]) as other:
        assert [(await client.get("/v1/usage")).status_code for _ in range(3)] == [200, 200, 429]
        assert (await other.get("/v1/usage")).status_code == 200


async def test_no_room_is_said_at_once(app_with, backend):
    backend.pause = asyncio.Event()
    async with client_of(app_with(max_in_flight=1), SECRETS["T1"]) as client:
        first = asyncio.create_task(client.post("/v1/search", json=SEARCH))
        while not backend.asked:
            await asyncio.sleep(0)
        refused = await client.post("/v1/search", json=SEARCH)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "overloaded")
        assert refused.headers["retry-after"] == "1"
        assert (await client.get("/health/live")).status_code == 200
        backend.pause.set()
        assert (await first).status_code == 200
        assert (await client.post("/v1/search", json=SEARCH)).status_code == 200


async def test_what_takes_too_long_ends(app_with, backend):
    backend.pause = asyncio.Event()
    async with client_of(app_with(request_timeout_s=0.01), SECRETS["T1"]) as client:
        reply = await client.post("/v1/search", json=SEARCH)
    assert (reply.status_code, reply.json()["error"]["code"]) == (504, "timeout")


async def test_a_body_that_does_not_come(app_with):
    async def never():
        yield b"{"
        await asyncio.Event().wait()

    async with client_of(app_with(body_timeout_s=0.01), SECRETS["T1"]) as client:
        headers = {"Content-Type": "application/json"}
        reply = await client.post("/v1/search", content=never(), headers=headers)
    assert (reply.status_code, reply.json()["error"]["code"]) == (408, "body_too_slow")


async def test_a_shutdown_finishes_what_began(app_with, backend):
    backend.pause = asyncio.Event()
    app = app_with()
    async with client_of(app, SECRETS["T1"]) as client:
        lifespan = app.router.lifespan_context(app)
        await lifespan.__aenter__()
        begun = asyncio.create_task(client.post("/v1/search", json=SEARCH))
        while not backend.asked:
            await asyncio.sleep(0)
        ending = asyncio.create_task(lifespan.__aexit__(None, None, None))
        while not app.state.work.draining:
            await asyncio.sleep(0)
        refused = await client.post("/v1/search", json=SEARCH)
        assert (refused.status_code, refused.json()["error"]["code"]) == (503, "shutting_down")
        assert (await client.get("/health/ready")).status_code == 503
        assert not backend.closed
        backend.pause.set()
        assert (await begun).status_code == 200
        await ending
    assert backend.closed


async def test_a_shutdown_does_not_wait_for_ever(app_with, backend):
    backend.pause = asyncio.Event()
    app = app_with(drain_s=0.01)
    async with client_of(app, SECRETS["T1"]) as client:
        async with app.router.lifespan_context(app):
            stuck = asyncio.create_task(client.post("/v1/search", json=SEARCH))
            while not backend.asked:
                await asyncio.sleep(0)
        assert backend.closed and not stuck.done()
        backend.pause.set()
        await stuck
