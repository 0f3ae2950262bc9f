"""CoM (Chain-of-Memory): turns retrieved for a question grow into chains of evidence.

Paper:
    Xu et al. 2026, Chain-of-Memory (CoM), arXiv 2601.14287, ACL 2026.

Official code:
    github.com/Xiucheng-Xu/CoM, no licence file found; read, not copied. Defaults are those of its runners.

Deviations:
    - One pool of K turns, those nearest to the question. The LoCoMo runner has K for each speaker, compares a
      question with the best sentence of a turn, and leaves out a speaker when the question names only the
      other; the LongMemEval runner looks in ten sessions first.
    - Only turns with a positive cosine to the question enter the pool: two negative factors would multiply to
      a high score.
    - Chains follow one another without headings, best anchor first, each line as every method's: relative
      dates are resolved.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from pydantic import Field

from memsif_ray.config import RunConfig, Strict
from memsif_ray.memory.reading import message_item
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.lines import pack
from memsif_ray.ports import Embedder
from memsif_ray.text import is_blank
from memsif_ray.types import Context, ContextItem, Conversation, Matrix, Message, Question, Vector


class Settings(Strict):
    """`baselines.com.*`."""

    pool: int = Field(20, ge=1, description="K: turns nearest to the question that chains are built from")
    beta: float = Field(0.5, ge=0, le=1, description="A chain ends below this share of its last score")
    num_chains: int = Field(3, ge=1, description="Chains: one per turn nearest to the question")


class Link(NamedTuple):
    """One step of a chain: which row of the pool, and the score it won with (an anchor's is its cosine)."""

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
        best = np.argsort(-cosines, kind="stable")[: self._settings.pool]
        pool = [self._messages[i] for i in best if cosines[i] > 0]
        chains = await grow_chains(
            query,
            self._vectors[best[: len(pool)]],
            [f"{m.speaker}: {m.content}" for m in pool],
            settings=self._settings,
            embedder=self._tools.embedder,
        )
        items = [_item(pool[link.row], link, number) for number, chain in enumerate(chains) for link in chain]
        ranked = [m for item in items for m in item.message_ids] + [m.message_id for m in pool]
        return Context(
            tuple(pack(items, self._budget, self._tools.tokens)), retrieved_ids=tuple(dict.fromkeys(ranked))
        )

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""


def _item(message: Message, link: Link, chain: int) -> ContextItem:
    """A turn in one of the chains; another may hold it, too."""
    name = f"{message.message_id}+{chain}" if chain else message.message_id
    return replace(message_item(message, link.score), item_id=name)


async def grow_chains(
    query: Vector, pool: Matrix, texts: Sequence[str], *, settings: Settings, embedder: Embedder
) -> list[list[Link]]:
    """One chain per anchor, best anchor first. Each draws on the whole pool, so a turn may be in several.

    Args:
        query: Unit vector, shape (dim,).
        pool: Unit vectors, shape (n, dim), nearest to the query first; of equal scores the earlier row wins.
        texts: Of the rows of the pool.
        settings: Says when a chain ends and how many there are.
        embedder: Of the query and the pool.
    """
    anchors = range(min(settings.num_chains, len(pool)))
    growing = (_grow(query, pool, texts, anchor, settings.beta, embedder) for anchor in anchors)
    return list(await asyncio.gather(*growing))


async def _grow(
    query: Vector, pool: Matrix, texts: Sequence[str], anchor: int, beta: float, embedder: Embedder
) -> list[Link]:
    """A chain from its anchor on; score(m) = cos(m, q) · cos(m, the chain so far as one text)."""
    relevance = pool @ query
    chain = [Link(anchor, float(relevance[anchor]))]
    free = [row for row in range(len(pool)) if row != anchor]
    while free:
        (so_far,) = await embedder.embed(["\n\n".join(texts[link.row] for link in chain)])
        scores = relevance[free] * (pool[free] @ so_far)
        best = int(np.argmax(scores))
        if scores[best] < beta * chain[-1].score:
            break
        chain.append(Link(free.pop(best), float(scores[best])))
    return chain
