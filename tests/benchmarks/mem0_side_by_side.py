"""The library mem0ai and ours in one run: the same messages, searches, endpoint and embedder.

```text
pip install -e '.[mem0-official]'     in an environment of its own: it needs an older protobuf
python -m tests.benchmarks.mem0_side_by_side --conversations 4 --messages 40 --searches 100
```

The endpoint answers at once, from a process of its own, with one well-formed fact per request, and its
embedder hashes words: what is measured is the libraries, and not how good their memories are. Both keep
their data on disk, mem0 in Qdrant and SQLite (its defaults), ours in SQLite. Messages come in pairs, as in
Mem0's evaluation. What they do with a pair differs, so each is run twice:

- `mem0` asks the model once per pair for facts. `memsif` delegates all it can: facts, and which of them are
  new, boundaries of topics and trajectories; it also writes topics, trajectories and a full history.
- `mem0, infer=False` stores every message as a memory, and asks no model. `memsif, rules` decides all by
  rule, and asks none either.

mem0 looks for entities and words only where spaCy and fastembed are installed, which its extra `nlp` is for.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
import re
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from memsif_ray import Memory
from memsif_ray.clients.scripted import reasonable
from memsif_ray.clients.scripted_server import scripted_server
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.config import EmbedderConfig, MemoryConfig, ModelConfig
from memsif_ray.types import ChatRequest

TOP_K = 20
EMBEDDER, DIM = "hash-64", 64
RULES = {
    "segments": {"decide": "rule"},
    "trajectories": {"decide": "rule"},
    "core": {"extract": "rule", "consolidate": "rule"},
    "active": {"synthesise": "rule"},
    "retrieval": {"sufficiency": "rule", "evidence": "extract"},
}
DEEDS = ("adopted a dog", "baked bread", "sold a boat", "met an old friend", "planted a tree", "ran a race")
PLACES = ("Ghent", "Hangzhou", "Oslo", "Lima", "Kyoto", "Perth", "Turin")
NEW = re.compile(r"## New Messages\n(.*?)\n\n## ", re.S)


class System(NamedTuple):
    """A memory behind two verbs."""

    add: Callable[[str, list[dict[str, str]]], Any]
    search: Callable[[str, str], Any]


class Measured(NamedTuple):
    """Seconds to ingest, p50 and p99 of a search in ms; calls, and tokens of chat, both ways."""

    times: tuple[float, float, float]
    asked: Counter[str]


def said(request: ChatRequest) -> str:
    """One fact about the new messages in mem0's form, or what the schema of a request wants."""
    new = NEW.search(request.user)
    if request.schema is not None or new is None:
        return reasonable(request)
    text = new[1].strip().splitlines()[-1].partition(": ")[2].replace('"', "'")
    return f'{{"memory": [{{"id": "0", "text": "{text}", "attributed_to": "user"}}]}}'


def endpoint(connection: Connection) -> None:
    """Serve until told to stop; tell what has been asked whenever something is sent."""
    asked: Counter[str] = Counter()
    tokens = EstimatingCounter()

    def script(request: ChatRequest) -> str:
        reply = said(request)
        asked["tokens"] += sum(map(tokens.count, (request.system, request.user, reply)))
        return reply

    with scripted_server(script) as server:
        connection.send(server.base_url)
        while connection.recv():
            connection.send(asked + server.requests)


def mem0(base_url: str, folder: Path, *, infer: bool) -> System:
    """The official package, with what it keeps on disk in `folder`."""
    from mem0 import Memory as Official

    where = {"api_key": "none", "openai_base_url": base_url}
    store = {"path": str(folder / "qdrant"), "on_disk": True, "embedding_model_dims": DIM}
    memory = Official.from_config(
        {
            "llm": {"provider": "openai", "config": {"model": "scripted", **where}},
            "embedder": {"provider": "openai", "config": {"model": EMBEDDER, **where}},
            "vector_store": {"provider": "qdrant", "config": store},
            "history_db_path": str(folder / "history.db"),
        }
    )
    return System(
        lambda whose, messages: memory.add(messages, user_id=whose, infer=infer),
        lambda whose, query: memory.search(query, filters={"user_id": whose}, top_k=TOP_K),
    )


@contextmanager
def memsif(base_url: str, path: Path, *, delegates: bool) -> Iterator[System]:
    """Our library, in a SQLite file."""
    model = ModelConfig(base_url=base_url, model="scripted")
    embedder = EmbedderConfig(base_url=base_url, model=EMBEDDER)
    config = MemoryConfig.model_validate({} if delegates else RULES)
    with Memory(path=path, model=model, embedder=embedder, config=config) as memory:
        yield System(
            lambda whose, messages: memory.add(messages, conversation_id=whose),
            lambda whose, query: memory.search(query, conversation_id=whose, top_k=TOP_K),
        )


def message(conversation: int, number: int) -> dict[str, str]:
    """One that no other conversation has."""
    deed, place = DEEDS[number % len(DEEDS)], PLACES[(number + conversation) % len(PLACES)]
    text = f"On day {number} of trip {conversation} I {deed} in {place} with friend {number * 7 % 11}."
    return {"role": ("user", "assistant")[number % 2], "content": text}


def measured(system: System, told: Callable[[], Counter[str]], given: argparse.Namespace) -> Measured:
    """Tell it everything, a pair to each conversation in turn; then search, each in turn."""
    names = [f"c{number}" for number in range(given.conversations)]
    before, began = told(), time.perf_counter()
    for first in range(0, given.messages, 2):
        for number, name in enumerate(names):
            system.add(name, [message(number, n) for n in (first, first + 1) if n < given.messages])
    ingest_s = time.perf_counter() - began
    for name in names:
        system.search(name, "Is everything loaded?")
    took = []
    for number in range(given.searches):
        query = f"When was it that I {DEEDS[number % len(DEEDS)]} in {PLACES[number % len(PLACES)]}?"
        began = time.perf_counter()
        system.search(names[number % len(names)], query)
        took.append(1000 * (time.perf_counter() - began))
    return Measured((ingest_s, *np.percentile(took, [50, 99])), told() - before)


def line(name: str, found: Measured, mem0_took: Measured) -> str:
    """A row, with the ratios of mem0's times to these."""
    times = [f"{a:.1f} ({b / a:.1f}x)" for a, b in zip(found.times, mem0_took.times, strict=True)]
    asked = [found.asked[what] for what in ("/v1/chat/completions", "/v1/embeddings", "tokens")]
    return f"{name:18}{''.join(f'{cell:>16}' for cell in times)}{''.join(f'{n:>11,}' for n in asked)}"


def compare(base_url: str, told: Callable[[], Counter[str]], given: argparse.Namespace, root: Path) -> None:
    """One system after the other."""
    print(f"{given.conversations} conversations of {given.messages} messages, {given.searches} searches;")
    print("in brackets how many times as long mem0 took in this run\n")
    print(f"{'':18}{'ingest s':>16}{'search p50 ms':>16}{'p99':>16}{'chats':>11}{'embeds':>11}{'tokens':>11}")
    for asks in (True, False):
        theirs = measured(mem0(base_url, root / f"mem0-{asks}", infer=asks), told, given)
        print(line("mem0" if asks else "mem0, infer=False", theirs, theirs))
        with memsif(base_url, root / f"memsif-{asks}.db", delegates=asks) as ours:
            print(line("memsif" if asks else "memsif, rules", measured(ours, told, given), theirs))


def main() -> None:
    """Read the sizes and compare."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    for name, size in (("conversations", 4), ("messages", 40), ("searches", 100)):
        parser.add_argument(f"--{name}", type=int, default=size)
    given = parser.parse_args()
    spawning = multiprocessing.get_context("spawn")
    here, there = spawning.Pipe()
    process = spawning.Process(target=endpoint, args=(there,), daemon=True)
    process.start()

    def told() -> Counter[str]:
        here.send(True)
        return here.recv()

    with tempfile.TemporaryDirectory(prefix="side-by-side-") as root:
        os.environ |= {"MEM0_TELEMETRY": "False", "MEM0_DIR": root}  # read when mem0 is imported
        compare(here.recv(), told, given, Path(root))
    here.send(False)
    process.join()


if __name__ == "__main__":
    main()
