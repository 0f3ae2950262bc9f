"""Speed of the memory core on one core, with stubbed models: what our own code costs, and how it grows.

    OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 python tests/benchmarks/memory_core.py [LARGEST]

Nothing is asserted: a busy machine slows everything, so read the ratios.
"""

import asyncio
import sys
import time
from datetime import datetime, timedelta

import numpy as np

from memsif_ray.memory.facts import FactBook
from memsif_ray.memory.matching import Phi
from memsif_ray.memory.presets import PAPER
from memsif_ray.memory.ranking import InteractionIndex
from memsif_ray.memory.segments import BoundaryRuling, Encoded, Segmenter, boundary_rule
from memsif_ray.memory.structure import structure_by_rule
from memsif_ray.types import Fact, FactOperation, Message, Op, Track

DIM = 384
SIZES = (1_000, 10_000, 100_000)
FACTS = 10_000
MIDPOINT = (PAPER.tau_split + PAPER.tau_merge) / 2
WORDS = [f"word{n}" for n in range(3000)]


def made(count: int, rng: np.random.Generator) -> list[Encoded]:
    """Messages in topics of about ten: vectors around a topic's direction, entities from its own few."""
    topics = rng.normal(size=(count // 10 + 1, DIM))
    vectors = 1.5 * topics[np.arange(count) // 10] + rng.normal(size=(count, DIM))
    vectors = (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)
    spoken = rng.integers(0, len(WORDS), size=(count, 12))
    named = rng.integers(0, 5, size=count)
    start = datetime(2024, 1, 1)
    return [
        Encoded(
            Message(
                "c1",
                f"m{i}",
                i,
                1 + i // 25,
                "AB"[i % 2],
                " ".join(WORDS[w] for w in spoken[i]),
                start + timedelta(minutes=i),
            ),
            vectors[i],
            frozenset({f"entity{i // 10}-{named[i]}"}),
        )
        for i in range(count)
    ]


async def segmented(items: list[Encoded]) -> Segmenter:
    """One pass of the segmenter, its judge by rule."""

    async def judge(case) -> BoundaryRuling:
        return boundary_rule(case, midpoint=MIDPOINT)

    segmenter = Segmenter(Phi(), tau_split=PAPER.tau_split, tau_merge=PAPER.tau_merge, judge=judge)
    for item in items:
        await segmenter.push(item)
    segmenter.finish()
    return segmenter


def segmentation(sizes, rng):
    base = None
    for size in sizes:
        items = made(size, rng)
        began = time.perf_counter()
        segmenter = asyncio.run(segmented(items))
        each = (time.perf_counter() - began) / size
        base = base or each
        print(
            f"segmentation {size:>7,} messages: {1 / each:>9,.0f} messages/s, {1e6 * each:6.1f} µs each, "
            f"ratio {each / base:.2f}, {len(segmenter.segments):,} segments"
        )


def one_long_topic(sizes, rng):
    """The worst case for a running segment: it never closes."""
    base = None
    for size in sizes:
        items = [
            Encoded(e.message, v, e.entities) for e, v in zip(made(size, rng), repeated(size), strict=True)
        ]
        began = time.perf_counter()
        asyncio.run(segmented(items))
        each = (time.perf_counter() - began) / size
        base = base or each
        print(f"one segment  {size:>7,} messages: {1 / each:>9,.0f} messages/s, ratio {each / base:.2f}")


def repeated(size):
    return np.tile(np.eye(1, DIM, dtype=np.float32), (size, 1))


def ranking(sizes, rng):
    for size in sizes:
        items = made(size, rng)
        structure = asyncio.run(structure_by_rule(items, PAPER, phi=Phi()))
        began = time.perf_counter()
        index = InteractionIndex(items, structure.segments, structure.trajectories, ranking="structural")
        built = time.perf_counter() - began
        texts = [" ".join(rng.choice(WORDS, 5)) for _ in range(20)]
        began = time.perf_counter()
        for text in texts:
            index.rank(text, items[0].vector)
        each = (time.perf_counter() - began) / len(texts)
        print(f"ranking      {size:>7,} messages: index in {built:.2f} s, {1e3 * each:.1f} ms per question")


def fact_retrieval(rng):
    vectors = rng.normal(size=(FACTS, DIM)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    when, book = datetime(2024, 1, 1), FactBook()
    for i, vector in enumerate(vectors):
        fact = Fact(f"f{i}", Track.CORE, "rens", "Event", "", f"Fact {i}.", (f"m{i}",), ("s0",), when)
        book.write(FactOperation(i, Op.ADD, fact), vector)
    queries = vectors[:200]
    began = time.perf_counter()
    found = [book.search(query, 10) for query in queries]
    each = (time.perf_counter() - began) / len(queries)
    exact = [[f"f{i}" for i in np.argsort(-(vectors @ q), kind="stable")[:10]] for q in queries]
    same = sum([fact.fact_id for fact, _ in hits] == ids for hits, ids in zip(found, exact, strict=True))
    print(f"facts        {FACTS:>7,} x {DIM}: {1e3 * each:.2f} ms per search, {same} of {len(queries)} exact")


def main():
    largest = int(sys.argv[1]) if len(sys.argv) > 1 else SIZES[-1]
    sizes, rng = [size for size in SIZES if size <= largest], np.random.default_rng(2026)
    segmentation(sizes, rng)
    one_long_topic([size for size in sizes if size <= 10_000], rng)
    ranking([size for size in (700, 5_000) if size <= largest], rng)
    fact_retrieval(rng)


if __name__ == "__main__":
    main()
