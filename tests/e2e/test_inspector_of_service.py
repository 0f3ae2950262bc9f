"""The inspector over the real service, its database and its memory; only the models are scripted."""

import asyncio
import contextlib
import os
import socket
import threading
from datetime import UTC, datetime

import httpx
import pytest
import uvicorn

from memsif_ray.api.app import make_app
from memsif_ray.config import MemoryConfig, SegmentConfig, TrajectoryConfig
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.storage.sql import open_store
from tests.unit.service.serving import tools_of

pytestmark = pytest.mark.browser

SAID = [
    ("Ines", "2024-05-20T18:00:00", "I adopted a greyhound called Comet from the shelter in Utrecht."),
    ("Rowan", "2024-05-20T18:01:00", "How lovely! Does Comet sleep on the red sofa already?"),
    ("Ines", "2024-05-20T18:02:00", "Comet the greyhound sleeps on the red sofa all day."),
    ("Rowan", "2024-05-27T09:00:00", "I start as an apprentice baker at Abara & Daughter in June."),
    ("Ines", "2024-05-27T09:02:00", "Congratulations! I will visit the bakery Abara & Daughter with cake."),
    ("Ines", "2024-06-03T20:00:00", "The vet says that the greyhound Comet needs a new diet."),
]
# Where the cosines of hashed words lie: two of the topics are about the same event.
MEMORY = MemoryConfig(
    segments=SegmentConfig(tau_split=0.05, tau_merge=0.2), trajectories=TrajectoryConfig(tau_join=0.15)
)
NOW = datetime(2024, 6, 10, 9, 0, tzinfo=UTC)


@contextlib.contextmanager
def service(folder):
    """The whole service in a thread with a loop of its own; gives its address."""
    listening = socket.create_server(("127.0.0.1", 0))
    serving: list[uvicorn.Server] = []

    async def run():
        store = await open_store(f"sqlite:///{folder}/memory.db", clock=lambda: NOW)
        tools = tools_of(lambda _: "The greyhound is called Comet.")
        app = make_app(Conversations(store, tools, ServiceConfig(memory=MEMORY), lambda: NOW), None)
        serving.append(uvicorn.Server(uvicorn.Config(app, log_level="warning")))
        await serving[0].serve(sockets=[listening])

    thread = threading.Thread(target=asyncio.run, args=(run(),))
    thread.start()
    try:
        yield f"http://localhost:{listening.getsockname()[1]}"
    finally:
        serving[0].should_exit = True
        thread.join()
        listening.close()


def ingest(address):
    messages = [
        {"name": name, "timestamp": at, "content": text, "id": f"m{n}", "session": at[:10]}
        for n, (name, at, text) in enumerate(SAID)
    ]
    body = {"conversation_id": "ines", "messages": messages, "wait": True}
    reply = httpx.post(f"{address}/v1/memories", json=body, timeout=60)
    assert reply.json()["status"] == "done", reply.text


@pytest.fixture
def address(tmp_path):
    with service(tmp_path) as found:
        ingest(found)
        yield found


def kept(page, name):
    """A picture for a person to look at, where somebody wants one."""
    folder = os.environ.get("MEMSIF_SCREENSHOTS")
    if folder:
        page.wait_for_load_state("networkidle")
        page.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.mark.parametrize("width", [390, 1280])
def test_what_was_said_is_seen_as_topics_threads_facts_and_evidence(open_page, address, width):
    page = open_page("#/ines", address=address, width=width)
    page.wait_for_selector(".message", state="attached")
    told = {s["id"] for s in httpx.get(f"{address}/v1/segments?conversation_id=ines").json()["results"]}
    threads = httpx.get(f"{address}/v1/trajectories?conversation_id=ines").json()["results"]
    assert page.locator(".block").count() == len(told) >= 2
    assert page.locator(".cord").count() == sum(len(t["segment_ids"]) > 1 for t in threads) >= 1
    assert page.locator(".message").count() == len(SAID)
    kept(page, f"timeline-{width}")
    if width < 700:
        page.get_by_role("button", name="Memory").click()
    kept(page, f"facts-{width}")
    page.locator(".fact", has_text="adopted a greyhound").get_by_role("link").click()
    page.wait_for_selector(".why .grounds li")
    assert "from the shelter in Utrecht" in page.locator(".why .grounds").inner_text()
    kept(page, f"why-{width}")
    page.locator(".why .back").click()
    page.get_by_role("tab", name="Ask").click()
    page.get_by_label("Ask memory").fill("What is the greyhound called?")
    page.keyboard.press("Enter")
    page.wait_for_selector(".answer")
    assert "The greyhound is called Comet." in page.locator(".answer").inner_text()
    assert page.locator(".found", has_text="greyhound called Comet").count() >= 1
    kept(page, f"answer-{width}")
