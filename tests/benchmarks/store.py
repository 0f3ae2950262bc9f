"""How long the store takes: accepting a message, saving state, reading, erasing.

    python tests/benchmarks/store.py [URL] [--conversations N] [--writes N]

Without a URL: SQLite in the current folder, so that it is this disk that is measured. Latencies are of one
caller, then of many at a time on conversations of their own. Beside them, what this disk takes to write one
page for good, since a write to the store cannot be faster than that.
"""

import argparse
import asyncio
import os
import time
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from memsif_ray.service.models import Operation
from memsif_ray.service.store import StateRow, StoredMessage
from memsif_ray.storage.sql import open_store

AT = datetime(2026, 1, 1, tzinfo=UTC)
VECTOR = bytes(4 * 384)


def shown(name, seconds):
    """One line of quantiles in milliseconds."""
    ordered = sorted(seconds)
    p50, p95, p99 = (1_000 * ordered[int(len(ordered) * q)] for q in (0.5, 0.95, 0.99))
    print(f"{name:32} n={len(ordered):5}  p50 {p50:8.2f}  p95 {p95:8.2f}  p99 {p99:8.2f} ms")


async def timed(call):
    """Seconds until a call is done."""
    start = time.perf_counter()
    await call
    return time.perf_counter() - start


def disk(path, writes):
    """Seconds of appending one page for good."""
    seconds = []
    with path.open("wb", buffering=0) as file:
        for _ in range(writes):
            start = time.perf_counter()
            file.write(bytes(4096))
            os.fdatasync(file.fileno())
            seconds.append(time.perf_counter() - start)
    path.unlink()
    return seconds


def accept(store, row, position):
    """Accept one message of 240 characters under an idempotency key."""
    name = f"{row.key}_{position}"
    operation = Operation(
        id=f"op_{name}",
        kind="ingest",
        conversation_id=row.conversation_id,
        status="pending",
        created_at=AT,
        updated_at=AT,
    )
    message = StoredMessage(
        name, position, 0, None, "user", "Amy", "hello world " * 20, datetime(2026, 1, 1), AT, operation.id
    )
    return store.accept(row.key, [message], operation, idempotency=(name, "digest"))


async def fill(store, conversations):
    """Conversations with a hundred facts and vectors each, so that tables and indexes have some size."""
    rows = [await store.create("bench", f"c{i:05d}") for i in range(conversations)]
    facts = [StateRow("facts", f"{i:05d}", {"text": "a fact " * 20}, VECTOR) for i in range(100)]
    for row in rows:
        await store.save(row.key, revision=0, put=facts)
    return rows


async def measure(store, rows, writes):
    """Print the table."""
    one = rows[0]
    shown("accept, one caller", [await timed(accept(store, one, i)) for i in range(writes)])
    start = time.perf_counter()
    calls = [timed(accept(store, row, 10_000 + i)) for i in range(4) for row in rows]
    shown(f"accept, {len(calls)} at a time", await asyncio.gather(*calls))
    print(f"{'':32} {len(calls) / (time.perf_counter() - start):.0f} accepted each second")
    saves = []
    for i in range(writes // 4):
        put = [StateRow("facts", f"{j:05d}", {"text": f"fact {i} " * 20}, VECTOR) for j in range(10)]
        saves.append(await timed(store.save(one.key, revision=i + 1, put=put)))
    shown("save, 10 rows replaced", saves)
    shown("find a conversation", [await timed(store.conversation("bench", "c00001")) for _ in range(writes)])
    shown("load the state (100 facts)", [await timed(store.state(one.key)) for _ in range(writes // 4)])
    shown("erase a conversation", [await timed(store.erase(row.key)) for row in rows[-10:]])


async def main(url, conversations, writes):
    """Fill a store, then measure it."""
    with TemporaryDirectory(dir=Path.cwd()) as folder:
        shown("disk: write a page for good", disk(Path(folder) / "page", writes))
        store = await open_store(url or f"sqlite:///{folder}/memsif.db")
        rows = await fill(store, conversations)
        size = sum(path.stat().st_size for path in Path(folder).rglob("*"))
        print(f"{conversations} conversations, {size / 1e6:.0f} MB in files; load {os.getloadavg()[0]:.1f}")
        await measure(store, rows, writes)
        await store.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("url", nargs="?")
    parser.add_argument("--conversations", type=int, default=200)
    parser.add_argument("--writes", type=int, default=400)
    given = parser.parse_args()
    asyncio.run(main(given.url, given.conversations, given.writes))
