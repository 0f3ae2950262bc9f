"""CoM (Chain-of-Memory): turns retrieved for a question are ordered into a chain of evidence.

Paper:
    Xu et al. 2026, Chain-of-Memory (CoM), arXiv 2601.14287, ACL 2026.

Official code:
    None found. The constants are those of a third-party re-implementation in Rust and are not verified.

Deviations:
    - The pool size 20, beta 0.6 and the longest chain of 8 turns are a third party's, not the authors'.
    - The number of chains is a setting, 1 by default; a later chain grows from what the earlier ones left.
    - Only turns with a positive cosine to the question enter the pool, because the first step squares it.
    - The speaker's name stands for the role, and relative dates are resolved as in every method's lines.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from pydantic import Field

from memsif_ray.config import RunConfig, Strict
from memsif_ray.memory.evidence import dated_line
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.lines import message_item, pack
from memsif_ray.text import is_blank
from memsif_ray.types import Context, Conversation, Matrix, Message, Question, Vector


class Settings(Strict):
    """`baselines.com.*`."""

    pool: int = Field(20, ge=1, description="K: turns nearest to the question that chains are built from")
    beta: float = Field(0.6, ge=0, le=1, description="A chain ends below this share of its last score")
    max_len: int = Field(8, ge=1, description="Longest chain, in turns")
    num_chains: int = Field(1, ge=1, description="Chains built one after the other")


class Link(NamedTuple):
    """One step of a chain: which row of the pool, and the score it won with."""

    row: int
    score: float


class ChainOfMemory:
    """Light to write (embeddings only); the structure is made when a question comes."""

    name = "com"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Nothing is known until `ingest` or `load`.

        Raises:
            ConfigError: When a setting of `baselines.com` is wrong.
        """
        self._settings = settings_of(config, "com", Settings)
        self._budget, self._tools = config.memory.retrieval.context_tokens, tools
        self._messages: list[Message] = []
        self._vectors = np.zeros((0, 0), dtype=np.float32)

    async def ingest(self, conversation: Conversation) -> None:
        """Embed every turn that says something."""
        self._messages = [m for m in conversation.messages if not is_blank(m.content)]
        if self._messages:
            self._vectors = await self._tools.embedder.embed([m.content for m in self._messages])

    def dump(self) -> Tables:
        """Nothing beyond the conversation itself: vectors are in the embedding cache."""
        return {}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Ingest again: the embedding cache makes it cheap."""
        await self.ingest(conversation)

    async def context(self, question: Question) -> Context:
        """The chains, each in the order in which it grew."""
        if not self._messages or is_blank(question.text):
            return Context(())
        query = (await self._tools.embedder.embed([question.text]))[0]
        cosines = self._vectors @ query
        pool = [i for i in np.argsort(-cosines, kind="stable")[: self._settings.pool] if cosines[i] > 0]
        links = [link for chain in grow_chains(query, self._vectors[pool], self._settings) for link in chain]
        chained = [(self._messages[pool[link.row]], link.score) for link in links]
        items = [replace(message_item(m, dated_line(m)), score=score) for m, score in chained]
        ranked = [m.message_id for m, _ in chained] + [self._messages[i].message_id for i in pool]
        return Context(
            tuple(pack(items, self._budget, self._tools.tokens)), retrieved_ids=tuple(dict.fromkeys(ranked))
        )

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""


def grow_chains(query: Vector, pool: Matrix, settings: Settings) -> list[list[Link]]:
    """Chains of rows of the pool, none in two chains.

    Args:
        query: Unit vector, shape (dim,).
        pool: Unit vectors, shape (n, dim), best first; of equal scores the earlier row wins.
        settings: Says when a chain ends and how many there are.
    """
    free = list(range(len(pool)))
    chains: list[list[Link]] = []
    while free and len(chains) < settings.num_chains:
        chains.append(_grow(query, pool, free, beta=settings.beta, max_len=settings.max_len))
        taken = {link.row for link in chains[-1]}
        free = [row for row in free if row not in taken]
    return chains


def _grow(query: Vector, pool: Matrix, rows: list[int], *, beta: float, max_len: int) -> list[Link]:
    """One chain; score(m) = cos(m, q) · cos(m, centroid of the chain), the centroid being q at first."""
    chain: list[Link] = []
    free, centroid = list(rows), query
    while free and len(chain) < max_len:
        scores = (pool[free] @ query) * (pool[free] @ centroid)
        best = int(np.argmax(scores))
        if chain and scores[best] < beta * chain[-1].score:
            break
        chain.append(Link(free.pop(best), float(scores[best])))
        centroid = pool[[link.row for link in chain]].mean(axis=0)
        centroid = centroid / max(float(np.linalg.norm(centroid)), np.finfo(np.float32).tiny)
    return chain
