"""The README's path: start, remember, ask, see why; stop, start again, and ask the same."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import httpx
import pytest

from memsif_ray.clients.scripted_server import Fault, scripted_server
from memsif_ray.service.backend import LOCAL_TENANT
from memsif_ray.storage.sql import open_store
from memsif_ray.storage.sql.location import file_url

START_S = 420
QUESTION = {"conversation_id": "diary", "question": "What is the name of the greyhound?", "learn": False}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@contextmanager
def service(data, port, *options, ended_by=signal.SIGINT):
    """`memsif serve` as a person runs it: used when it says that it is ready, stopped by Ctrl-C.

    Or by SIGTERM, as by an operating system, which tells the one process that it started.
    """
    command = [sys.executable, "-m", "memsif_ray", "serve", "--port", str(port), "--data", str(data)]
    log = data.parent / f"{port}-{time.monotonic_ns()}.log"
    with log.open("w") as stderr:
        process = subprocess.Popen(
            [*command, *options],
            stdout=subprocess.DEVNULL,
            stderr=stderr,
            env={k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"},
            start_new_session=True,
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
            await_ready(client, process, log)
            yield client
            # A terminal tells the whole group.
            (os.killpg if ended_by is signal.SIGINT else os.kill)(process.pid, ended_by)
        assert process.wait(120) == 0, log.read_text()
    finally:
        process.kill()
    assert "no keys, so this machine only" in log.read_text()
    assert "Traceback" not in log.read_text()


def await_ready(client, process, log):
    until = time.monotonic() + START_S
    while "ready at" not in log.read_text():
        assert process.poll() is None, log.read_text()
        assert time.monotonic() < until, log.read_text()
        time.sleep(0.2)
    assert client.get("/health/ready").is_success


def remember(client):
    messages = ["I adopted a greyhound called Comet.", "Comet sleeps on the red sofa."]
    body = {"conversation_id": "diary", "messages": messages, "wait": True}
    reply = client.post("/v1/memories", json=body)
    assert reply.status_code == 200
    assert reply.json()["status"] == "done"


def told(client):
    """What it answers, on what that rests, and all it holds, without times of digestion."""
    answer = client.post("/v1/answer", json=QUESTION).json()
    memories = client.get("/v1/memories", params={"conversation_id": "diary"}).json()["results"]
    why = [client.get(f"/v1/memories/{memory['id']}/provenance").json() for memory in memories]
    evidence = [(found["type"], found["text"], found["message_ids"]) for found in answer["evidence"]]
    return answer["answer"], evidence, memories, why


def walk(data, *options):
    port = free_port()
    with service(data, port, *options) as client:
        remember(client)
        before = told(client)
        assert client.get("/inspector/").is_success
        assert client.get("/docs").is_success
    with service(data, port, *options) as client:
        assert told(client) == before
    return before


@pytest.mark.ray
def test_what_was_told_is_there_after_a_restart(tmp_path):
    with scripted_server() as server:
        url = server.base_url
        answer, evidence, _, why = walk(
            tmp_path / "memory",
            *("--base-url", url, "--model", "scripted", "--embedder", "hash-64", "--embedder-url", url),
        )
    assert answer
    assert any("Comet" in text for _, text, _ in evidence)
    assert all(one["messages"] for one in why)


CHAT = {
    "model": "scripted",
    "user": "diary",
    "messages": [{"role": "user", "content": "Comet is asleep now. Good night!"}],
}


def is_chat(body):
    return body["messages"][-1] == CHAT["messages"][0]


def slow_to_chat(_arrival, body):
    """The chat model takes longer than everything but the API takes to end."""
    return Fault(hang_s=10.0) if is_chat(body) else None


async def stored(data):
    """Operations of the conversation, and what was said in it, as the next process would find them."""
    store = await open_store(file_url(data / "memory.db"))
    row = await store.conversation(LOCAL_TENANT, "diary")
    said = [message.content for message in await store.messages(row.key)]
    waiting = await store.unfinished()
    await store.close()
    return said, waiting


@pytest.mark.ray
def test_a_request_in_flight_is_answered_and_remembered_when_the_service_is_told_to_end(tmp_path):
    data, port = tmp_path / "memory", free_port()
    with scripted_server(faults=slow_to_chat) as server, ThreadPoolExecutor() as threads:
        url = server.base_url
        options = ("--base-url", url, "--model", "scripted", "--embedder", "hash-64", "--embedder-url", url)
        with service(data, port, *options, ended_by=signal.SIGTERM) as client:
            remember(client)
            address = f"http://127.0.0.1:{port}/v1/chat/completions"
            chat = threads.submit(httpx.post, address, json=CHAT, timeout=300)
            while not any(map(is_chat, server.bodies)):  # until the chat model has it
                assert not chat.done(), chat.result().text
                time.sleep(0.05)
        reply = chat.result()
    assert reply.status_code == 200 and reply.json()["memsif"]["operation_id"]
    said, waiting = asyncio.run(stored(data))
    assert said[2] == CHAT["messages"][0]["content"] and len(said) == 4
    assert not waiting, "the turn was digested before the shards ended"


@pytest.mark.ray
def test_a_ray_that_does_not_start_is_one_line_with_the_remedy(tmp_path):
    nowhere = "http://127.0.0.1:9/v1"
    command = ["serve", "--port", str(free_port()), "--data", str(tmp_path)]
    done = subprocess.run(
        [sys.executable, "-m", "memsif_ray", *command, "--base-url", nowhere, "--embedder-url", nowhere],
        # So often Ray asks whether its own processes are there.
        env={k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"} | {"RAY_NUM_REDIS_GET_RETRIES": "0"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 3, done.stderr
    assert "Ray did not start on this machine" in done.stderr and "start again" in done.stderr
    assert "Traceback" not in done.stderr and done.stdout == ""


@pytest.mark.ray
@pytest.mark.model
def test_the_embedded_model_answers_before_and_after(tmp_path):
    answer, evidence, _, _ = walk(tmp_path / "memory")
    assert "Comet" in answer
    assert any("Comet" in text for _, text, _ in evidence)
