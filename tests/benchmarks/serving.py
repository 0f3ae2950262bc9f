"""What the service costs beside its models, and what it loses when its shards are killed.

```text
python -m tests.benchmarks.serving                   everything; ten minutes, wants an idle machine
python -m tests.benchmarks.serving --part overhead --conversations 50 --facts 200 --seconds 5
```

The model is scripted and answers at once, so that what is measured is the service. Each part starts `memsif
serve` as a person does, with SQLite, and prints one line per figure: what it is, its value, what the issue
asks for.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import httpx

from memsif_ray.clients.scripted_server import scripted_server

BUSY = frozenset({429, 502, 503, 504})
PACE_S = 1 / 50


@dataclass(frozen=True)
class Scale:
    """How much is done."""

    conversations: int
    facts: int
    clients: int
    written: int
    seconds: float
    kills: int


class Service:
    """A running `memsif serve`."""

    def __init__(self, folder: Path, model_url: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}"
        self._command = [sys.executable, "-m", "memsif_ray", "serve", "--port", str(self.port)]
        self._command += ["--data", str(folder), "--base-url", model_url, "--model", "scripted"]
        self._command += ["--embedder", "hash-64", "--embedder-url", model_url, "--per-minute", "10000000"]
        self._log = folder / "serve.log"
        self.process: subprocess.Popen[bytes]

    def start(self) -> float:
        """Seconds until it is ready."""
        began = time.monotonic()
        with self._log.open("a") as log:
            self.process = subprocess.Popen(
                self._command, stdout=log, stderr=log, start_new_session=True, cwd=Path.cwd()
            )
        while True:
            if self.process.poll() is not None:
                raise SystemExit(self._log.read_text())
            try:
                if httpx.get(f"{self.url}/health/ready", timeout=30).is_success:
                    return time.monotonic() - began
            except httpx.TransportError:
                pass
            time.sleep(0.2)

    def stop(self) -> None:
        self.process.send_signal(signal.SIGINT)
        self.process.wait(180)

    def shards(self) -> list[int]:
        """Process ids of its shards: those of the session of Ray that this service started."""
        return [pid for pid, title in _descendants(self.process.pid) if title.startswith("ray::MemoryShard")]

    def memory_mib(self) -> float:
        """Resident memory of the shards."""
        pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in self.shards()]
        return sum(pages) * os.sysconf("SC_PAGE_SIZE") / 2**20


def _descendants(root: int) -> list[tuple[int, str]]:
    parents, titles = {}, {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            parents[int(folder.name)] = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
            titles[int(folder.name)] = (folder / "cmdline").read_text().replace("\0", " ")
        except OSError:
            continue
    found, ring = [], [root]
    while ring:
        ring = [pid for pid, parent in parents.items() if parent in ring]
        found += ring
    return [(pid, titles[pid]) for pid in found]


@contextmanager
def running() -> Iterator[Service]:
    with tempfile.TemporaryDirectory() as folder, scripted_server() as model:
        service = Service(Path(folder), model.base_url)
        show("start until ready", f"{service.start():.1f} s", "-")
        try:
            yield service
        finally:
            service.stop()


def show(what: str, value: str, wanted: str) -> None:
    print(f"{what:52} {value:>14}   {wanted}", flush=True)


def percentile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))]


async def remember(client: httpx.AsyncClient, name: str, texts: Sequence[str], **more: object) -> int:
    """Store messages, again until it is acknowledged; the number of tries that were not."""
    messages = [{"content": text, "id": f"m-{text}"} for text in texts]
    body = {"conversation_id": name, "messages": messages, **more}
    failed = 0
    while True:
        try:
            reply = await client.post("/v1/memories", json=body)
            if reply.status_code not in BUSY:
                reply.raise_for_status()
                return failed
        except httpx.TransportError:
            pass
        failed += 1
        await asyncio.sleep(0.2)


async def overhead(service: Service, scale: Scale) -> None:
    """Search and ingest without model time: many conversations, and many facts in the one that is asked."""
    async with httpx.AsyncClient(base_url=service.url, timeout=600) as client:
        for start in range(0, scale.conversations, 50):
            names = range(start, min(start + 50, scale.conversations))
            await asyncio.gather(*(remember(client, f"c{n}", [f"Talk {n} is about kites."]) for n in names))
        for start in range(0, scale.facts, 500):
            numbers = range(start, min(start + 500, scale.facts))
            texts = [f"Person {n} owns boat number {n} in harbour {n % 97}." for n in numbers]
            await remember(client, "big", texts, wait=True)
        facts = await count_of(client, "/v1/memories", "big")
        show("facts in the conversation that is asked", str(facts), f">= {scale.facts}")
        searches = await paced(
            [
                lambda n=n: client.post(
                    "/v1/search", json={"conversation_id": "big", "query": f"Who owns boat {n}?", "top_k": 10}
                )
                for n in range(int(scale.seconds / PACE_S))
            ]
        )
        show("search at 50/s, p50", f"{percentile(searches, 0.5) * 1e3:.1f} ms", "<= 5 ms")
        show("search at 50/s, p99", f"{percentile(searches, 0.99) * 1e3:.1f} ms", "<= 25 ms")
        ingests = await paced(
            [
                lambda n=n: client.post(
                    "/v1/memories", json={"conversation_id": f"c{n % 50}", "messages": f"Kite {n} is red."}
                )
                for n in range(int(scale.seconds / PACE_S / 5))
            ],
            pace_s=5 * PACE_S,
        )
        show("ingest acknowledged at 10/s, p50", f"{statistics.median(ingests) * 1e3:.1f} ms", "<= 10 ms")


async def paced(calls: Sequence, *, pace_s: float = PACE_S) -> list[float]:
    """Start a call at each tick, whatever became of earlier ones; how long each took from its tick."""
    began = time.monotonic()

    async def one(place: int) -> float:
        due = began + place * pace_s
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        (await calls[place]()).raise_for_status()
        return time.monotonic() - due

    return list(await asyncio.gather(*(one(place) for place in range(len(calls)))))


async def count_of(client: httpx.AsyncClient, path: str, name: str) -> int:
    return len(await everything(client, path, {"conversation_id": name}))


async def everything(client: httpx.AsyncClient, path: str, query: dict[str, str]) -> list[dict]:
    found, cursor = [], None
    while True:
        more = {} if cursor is None else {"cursor": cursor}
        reply = await client.get(path, params={**query, "limit": 1000, **more})
        if reply.status_code in BUSY:
            await asyncio.sleep(0.5)
            continue
        page = reply.raise_for_status().json()
        found += page["results"]
        cursor = page["next_cursor"]
        if cursor is None:
            return found


async def load(service: Service, scale: Scale, *, kills: int) -> None:
    """Many clients write; some shards are killed meanwhile, and at the end the whole service is restarted."""
    until = time.monotonic() + scale.seconds
    acknowledged: list[list[str]] = [[] for _ in range(scale.clients)]
    waits: list[float] = []
    before = service.memory_mib()

    async def write(number: int, client: httpx.AsyncClient) -> None:
        name, sent = f"shared{number % scale.written}", 0
        while time.monotonic() < until:
            text, began = f"client {number} line {sent}", time.monotonic()
            await remember(client, name, [text])
            waits.append(time.monotonic() - began)
            acknowledged[number].append(text)
            sent += 1

    async def kill() -> None:
        for turn in range(kills):
            await asyncio.sleep(scale.seconds / (kills + 2))
            shards = service.shards()
            if shards:
                os.kill(shards[turn % len(shards)], signal.SIGKILL)

    limits = httpx.Limits(max_connections=scale.clients)
    async with httpx.AsyncClient(base_url=service.url, timeout=120, limits=limits) as client:
        await asyncio.gather(kill(), *(write(number, client) for number in range(scale.clients)))
        show("writes acknowledged", str(len(waits)), "-")
        show("acknowledged after, p50", f"{statistics.median(waits) * 1e3:.0f} ms", "-")
        show("memory of the shards before, after", f"{before:.0f}, {service.memory_mib():.0f} MiB", "flat")
        if kills:
            show("longest wait for an acknowledgement over a kill", f"{max(waits):.1f} s", "-")
            service.stop()
            show("full restart until ready", f"{service.start():.1f} s", "-")
        await account(client, scale, acknowledged)


async def account(client: httpx.AsyncClient, scale: Scale, acknowledged: list[list[str]]) -> None:
    lost = duplicated = reordered = 0
    for place in range(scale.written):
        rows = await everything(client, f"/v1/conversations/shared{place}/messages", {})
        stored = [row["content"] for row in rows]
        duplicated += len(stored) - len(set(stored))
        order = {text: position for position, text in enumerate(stored)}
        for texts in acknowledged[place :: scale.written]:
            lost += sum(text not in order for text in texts)
            positions = [order[text] for text in texts if text in order]
            reordered += sum(a > b for a, b in zip(positions, positions[1:], strict=False))
    show("lost, duplicated, reordered", f"{lost}, {duplicated}, {reordered}", "0, 0, 0")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--part", choices=["all", "overhead", "load", "kills"], default="all")
    parser.add_argument("--conversations", type=int, default=1_000)
    parser.add_argument("--facts", type=int, default=5_000)
    parser.add_argument("--clients", type=int, default=200)
    parser.add_argument("--written", type=int, default=100, help="conversations that the clients write to")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--kills", type=int, default=10)
    given = vars(parser.parse_args())
    part, scale = given.pop("part"), Scale(**given)
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    if part in ("all", "overhead"):
        with running() as service:
            asyncio.run(overhead(service, scale))
    if part in ("all", "load"):
        with running() as service:
            asyncio.run(load(service, scale, kills=0))
    if part in ("all", "kills"):
        with running() as service:
            asyncio.run(load(service, scale, kills=scale.kills))


if __name__ == "__main__":
    main()
