"""Speed and memory of the diagnostics: all of LoCoMo with cached embeddings, and one very long history.

    python tests/benchmarks/diagnostics.py locomo10.json [SEGMENTS]

The first run embeds what the cache does not hold, with the default embedder, and says so; the seconds shown
are of a second reading, from the cache. Nothing is asserted: a busy machine slows everything.
"""

import asyncio
import sys
import time
import tracemalloc
from pathlib import Path

import numpy as np

from memsif_ray.clients.embedders import make_embedder
from memsif_ray.config import DataConfig, RunConfig
from memsif_ray.datasets import load
from memsif_ray.diagnostics.neighbours import RANKS, sntd, top_neighbours
from memsif_ray.diagnostics.tsm import measure_conversation
from memsif_ray.runtime.workplace import embedding_cache

DIM = 384
MIB = 2**20


async def measured(conversations, embedder) -> float:
    began = time.perf_counter()
    for conversation in conversations:
        await measure_conversation(conversation, embedder)
    return time.perf_counter() - began


async def locomo(path: Path) -> None:
    dataset = load(DataConfig(dataset="locomo", path=path))
    config = RunConfig()
    embedder = make_embedder(config.embedder, embedding_cache(config))
    first = await measured(dataset.conversations, embedder)
    print(f"locomo: {first:.1f} s the first time, embedding what the cache did not hold")
    tracemalloc.start()
    second = await measured(dataset.conversations, embedder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    third = await measured(dataset.conversations, embedder)
    print(
        f"locomo: ASV and SNTD of {len(dataset.conversations)} conversations from the cache: {third:.2f} s "
        f"({second:.2f} s while memory is traced, peak {peak / MIB:.0f} MiB)"
    )


def long_history(segments: int) -> None:
    vectors = np.random.default_rng(42).normal(size=(segments, DIM)).astype(np.float32)
    tracemalloc.start()
    began = time.perf_counter()
    found = top_neighbours(vectors, max(RANKS))
    seconds = time.perf_counter() - began
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    values = ", ".join(f"@{k} {sntd(found.indices, k):.4f}" for k in RANKS)
    print(
        f"SNTD of {segments:,} segments x {DIM}: {seconds:.1f} s, peak {peak / MIB:.0f} MiB "
        f"beside the vectors ({vectors.nbytes / MIB:.0f} MiB); {values}"
    )


def main() -> None:
    long_history(int(sys.argv[2]) if len(sys.argv) > 2 else 20_000)
    asyncio.run(locomo(Path(sys.argv[1])))


if __name__ == "__main__":
    main()
