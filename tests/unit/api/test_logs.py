"""Log lines can be joined by request, and hold nothing that a user said."""

import asyncio
import gc
import json
import logging

from tests.unit.api.conftest import SECRETS, client_of

CANARY = "xylophone-heron"


async def test_a_request_is_one_line(app_with, lines):
    async with client_of(app_with(), SECRETS["T1"]) as amy:
        await amy.get("/v1/memories/mem_7", headers={"X-Request-ID": "mine-1"})
    (line,) = lines()
    assert line.pop("ms") >= 0 and line.pop("time")
    assert line == {
        "level": "info",
        "logger": "memsif_ray.api.observing",
        "event": "request",
        "request_id": "mine-1",
        "method": "GET",
        "route": "/v1/memories/{memory_id}",
        "status": 404,
        "error_code": "not_found",
        "key_id": "key1",
    }


def test_what_ray_hangs_on_every_record_is_not_written(lines):
    logging.getLogger("memsif_ray.test").warning("odd", extra={"_ray_of_some_release": 1, "route": "/r"})
    (line,) = lines()
    assert line["route"] == "/r" and "_ray_of_some_release" not in line


async def test_no_word_of_a_user_and_no_secret_is_logged(app_with, backend, lines):
    async with client_of(app_with(), SECRETS["T1"]) as amy:
        said = {"conversation_id": f"c-{CANARY}", "messages": f"my word is {CANARY}"}
        await amy.post("/v1/memories", json=said)
        await amy.post("/v1/search", json={"conversation_id": "c1", "query": CANARY})
        await amy.get("/v1/memories", params={"conversation_id": CANARY})
        await amy.get(f"/v1/{CANARY}")
        await amy.post("/v1/search", json={"conversation_id": "c1", "query": CANARY, "top_k": CANARY})
        await amy.post("/v1/search", content=f'{{"query": {CANARY}}}')
        backend.fault = ValueError(f"cannot read {CANARY}")
        await amy.post("/v1/search", json={"conversation_id": "c1", "query": CANARY})
    # A time of "2026-12-01T10:54" holds the tenant's name by chance.
    written = json.dumps([{key: value for key, value in line.items() if key != "time"} for line in lines()])
    assert CANARY not in written and SECRETS["T1"] not in written and "T1" not in written
    assert [line["status"] for line in lines() if line["event"] == "request"][-1] == 500


async def test_a_bug_is_found_by_its_place(app_with, backend, lines):
    backend.fault = ZeroDivisionError("words")
    async with client_of(app_with(), SECRETS["T1"]) as amy:
        reply = await amy.post("/v1/search", json={"conversation_id": "c1", "query": "x"})
    fault = next(line for line in lines() if line["event"] == "fault")
    assert fault["error"] == "ZeroDivisionError" and fault["request_id"] == reply.headers["x-request-id"]
    assert fault["places"][-1].startswith("small_backend.py:") and fault["places"][-1].endswith(" _enter")


def test_a_traceback_gives_places_only(lines):
    try:
        raise ValueError(CANARY)
    except ValueError:
        logging.getLogger("x").exception("failed")
    (line,) = lines()
    assert line["error"] == "ValueError" and CANARY not in json.dumps(line)


async def test_what_asyncio_says_about_a_failed_task_quotes_nothing(lines):
    async def fail():
        raise ValueError(CANARY)

    task = asyncio.create_task(fail())
    await asyncio.wait([task])
    del task
    gc.collect()  # nobody asked for its result: now asyncio says so
    (line,) = lines()
    assert line["event"] == "Task exception was never retrieved" and line["error"] == "ValueError"
    assert CANARY not in json.dumps(line)
