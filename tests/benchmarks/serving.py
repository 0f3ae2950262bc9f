"""What the service costs beside its models, and what it loses when its shards are killed.

```text
python -m tests.benchmarks.serving                   everything; ten minutes, wants an idle machine
python -m tests.benchmarks.serving --part overhead --conversations 50 --facts 200 --seconds 5
```

The model is scripted and answers at once, so that what is measured is the service. Each part starts `memsif
serve` as a person does, with SQLite, and prints one line per figure: what it is, its value, what the issue
asks for. Client and model run on the same cores; lines that begin with two blanks say what is theirs.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import random
import signal
import statistics
import time
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

import aiohttp
import httpx

from tests.benchmarks.served_processes import Service, running

BUSY = frozenset({429, 502, 503, 504})
SYLLABLES = [consonant + vowel for consonant in "bdfgklmnprstvz" for vowel in "aeiou"]
SAMPLE_S = 10.0

Call = Callable[[], Awaitable[aiohttp.ClientResponse]]


@dataclass(frozen=True)
class Scale:
    """How much is done."""

    conversations: int
    facts: int
    clients: int
    written: int
    seconds: float
    kills: int


def show(what: str, value: str, wanted: str = "-") -> None:
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


def unlike(number: int) -> list[str]:
    """Texts that share no word, so that each begins a topic and becomes a fact that is like no other."""
    rng = random.Random(number)
    words = iter(dict.fromkeys("".join(rng.choices(SYLLABLES, k=4)) for _ in range(9 * number)))
    return [" ".join(next(words) for _ in range(8)) for _ in range(number)]


async def fill(client: httpx.AsyncClient, scale: Scale) -> list[str]:
    """Many small conversations, and a big one with as many facts as wanted; returns what was said there."""
    for start in range(0, scale.conversations, 50):
        names = range(start, min(start + 50, scale.conversations))
        await asyncio.gather(*(remember(client, f"c{n}", [f"Talk {n} is about kites."]) for n in names))
    texts = unlike(int(1.5 * scale.facts) + 10)  # some are held to say what another says
    facts = at = 0
    while facts < scale.facts and at < len(texts):
        more = min(500, max(20, scale.facts - facts), len(texts) - at)
        await remember(client, "big", texts[at : at + more], wait=True)
        at, facts = at + more, len(await everything(client, "/v1/memories", {"conversation_id": "big"}))
    show("facts in the conversation that is asked", str(facts), f">= {scale.facts}")
    return texts[:at]


async def overhead(service: Service, scale: Scale) -> None:
    """Search and ingest without model time: many conversations, and many facts in the one that is asked.

    Timed calls are aiohttp's: httpx takes 3 ms of processor time for each, which all others would wait for.
    """
    async with httpx.AsyncClient(base_url=service.url, timeout=600) as client:
        texts = await fill(client, scale)
    async with aiohttp.ClientSession(service.url) as plain:

        def search(number: int) -> Call:
            asked = texts[number % len(texts)].rpartition(" ")[0]
            body = {"conversation_id": "big", "query": f"Who said {asked}?", "top_k": 10}
            return lambda: read(plain.post("/v1/search", json=body))

        def ingest(number: int) -> Call:
            body = {"conversation_id": f"c{number % 50}", "messages": f"Kite {number} is red."}
            return lambda: read(plain.post("/v1/memories", json=body))

        await paced([search(n) for n in range(20)], per_s=10)  # connections, and the index
        count = int(scale.seconds * 50)
        waits = await told(service, [search(n) for n in range(count)], per_s=50)
        show("search at 50/s, p50", f"{percentile(waits, 0.5) * 1e3:.1f} ms", "<= 5 ms")
        show("search at 50/s, p99", f"{percentile(waits, 0.99) * 1e3:.1f} ms", "<= 25 ms")
        await shares(service, plain)
        waits = await told(service, [ingest(n) for n in range(count // 5)], per_s=10)
        show("ingest acknowledged at 10/s, p50", f"{percentile(waits, 0.5) * 1e3:.1f} ms", "<= 10 ms")


async def read(asked: AbstractAsyncContextManager[aiohttp.ClientResponse]) -> aiohttp.ClientResponse:
    async with asked as reply:
        await reply.read()
        return reply


async def shares(service: Service, plain: aiohttp.ClientSession) -> None:
    """What of a search is not memory's: one embedding at the model, and a request that asks for nothing."""
    body = {"model": "hash-64", "input": ["Who said that?"], "encoding_format": "float"}
    address = f"{service.model_url}/embeddings"
    waits = await paced([lambda: read(plain.post(address, json=body))] * 500, per_s=50)
    show("  one embedding from the scripted model, p50", f"{percentile(waits, 0.5) * 1e3:.1f} ms")
    waits = await paced([lambda: read(plain.get("/version"))] * 500, per_s=50)
    show("  a request that touches no memory, p50", f"{percentile(waits, 0.5) * 1e3:.1f} ms")


async def told(service: Service, calls: Sequence[Call], *, per_s: float) -> list[float]:
    """`paced`, and then a line for the processor time of each process per call."""
    before = service.cpu_s()
    waits = await paced(calls, per_s=per_s)
    for whose, spent in (service.cpu_s() - before).most_common():
        show(f"  processor time a call: {whose}", f"{spent / len(calls) * 1e3:.1f} ms")
    return waits


async def paced(calls: Sequence[Call], *, per_s: float) -> list[float]:
    """Start a call at each tick, whatever became of earlier ones; how long each took from its tick."""
    began = time.monotonic()

    async def one(place: int) -> float:
        due = began + place / per_s
        await asyncio.sleep(max(0.0, due - time.monotonic()))
        (await calls[place]()).raise_for_status()
        return time.monotonic() - due

    return list(await asyncio.gather(*(one(place) for place in range(len(calls)))))


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


class Writers:
    """Many clients, each of which writes one line after the other into a conversation shared with others."""

    def __init__(self, scale: Scale) -> None:
        self.scale, self.until = scale, time.monotonic() + scale.seconds
        self.waits: list[float] = []
        self.acknowledged: list[list[str]] = [[] for _ in range(scale.clients)]

    async def write(self, client: httpx.AsyncClient) -> None:
        await asyncio.gather(*(self._write(number, client) for number in range(self.scale.clients)))
        show("writes acknowledged", str(len(self.waits)))
        show("acknowledged after, p50", f"{statistics.median(self.waits) * 1e3:.0f} ms")

    async def _write(self, number: int, client: httpx.AsyncClient) -> None:
        sent = 0
        while time.monotonic() < self.until:
            text, began = f"client {number} line {sent}", time.monotonic()
            await remember(client, f"shared{number % self.scale.written}", [text])
            self.waits.append(time.monotonic() - began)
            self.acknowledged[number].append(text)
            sent += 1


def client_of(service: Service, scale: Scale) -> httpx.AsyncClient:
    limits = httpx.Limits(max_connections=scale.clients)
    return httpx.AsyncClient(base_url=service.url, timeout=120, limits=limits)


async def load(service: Service, scale: Scale) -> None:
    """Many clients write; nothing is lost, and memory does not leak."""
    writers, memory, before = Writers(scale), [], service.cpu_s()

    async def weigh() -> None:
        while time.monotonic() < writers.until:
            memory.append((len(writers.waits), service.memory_mib()))
            await asyncio.sleep(min(SAMPLE_S, scale.seconds / 6))

    async with client_of(service, scale) as client:
        await asyncio.gather(weigh(), writers.write(client))
        for whose, spent in (service.cpu_s() - before).most_common():
            show(f"  processor time a write: {whose}", f"{spent / len(writers.waits) * 1e3:.1f} ms")
        show_memory(memory)
        await account(client, scale, writers.acknowledged)


async def kills(service: Service, scale: Scale) -> None:
    """The same while shards are killed; at the end the whole service is restarted."""
    writers = Writers(scale)

    async def kill() -> None:
        for turn in range(scale.kills):
            await asyncio.sleep(scale.seconds / (scale.kills + 2))
            shards = service.shards()
            if shards:
                os.kill(shards[turn % len(shards)], signal.SIGKILL)

    async with client_of(service, scale) as client:
        await asyncio.gather(kill(), writers.write(client))
        show("longest wait for an acknowledgement over a kill", f"{max(writers.waits):.1f} s")
        service.stop()
        show("full restart until ready", f"{service.start():.1f} s")
        await account(client, scale, writers.acknowledged)


def show_memory(samples: Sequence[tuple[int, float]]) -> None:
    """Memories grow with what is written, so flat means: by little per message, and no faster at the end."""
    third = max(1, len(samples) // 3)
    first, last = (statistics.median(mib for _, mib in part) for part in (samples[:third], samples[-third:]))
    show("memory of the shards, first and last third", f"{first:.0f}, {last:.0f} MiB", "flat")
    middle = len(samples) // 2
    for name, (a, b) in {"first": (0, middle), "second": (middle, len(samples) - 1)}.items():
        (written, lighter), (more, heavier) = samples[a], samples[b]
        grown = (heavier - lighter) * 1024 / max(1, more - written)
        show(f"  growth per message, {name} half", f"{grown:.1f} KiB")


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
    parts = {"overhead": overhead, "load": load, "kills": kills}
    print(f"load of the machine before: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for name in parts if part == "all" else [part]:
        with running() as (service, started_s):
            show("start until ready", f"{started_s:.1f} s")
            asyncio.run(parts[name](service, scale))


if __name__ == "__main__":
    main()
