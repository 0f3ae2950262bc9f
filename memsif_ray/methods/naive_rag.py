"""Naive RAG: every turn is a chunk; the best 100 by cosine, in chronological order.

Paper:
    MemSIF, appendix C.2; BM25 after Robertson and Zaragoza 2009 (k1 = 1.2, b = 0.75); reciprocal rank fusion
    after Cormack, Clarke and Büttcher 2009 (k = 60).
Official code:
    None needed.
Variants:
    - naive-rag:neighbours: Naive RAG that also shows the turns before and after those it found.
    - bm25: Control: every turn is a chunk; the best 100 by BM25, in chronological order.
    - hybrid: Control: rankings by cosine and BM25 fused by reciprocal rank (k = 60); the best 100 turns.
Deviations:
    - The budget is the run's `memory.retrieval.context_tokens`, the same as MemSIF's. The paper gives RAG the
      32K window of Full-Context; at an equal budget the comparison is about what is chosen, not how much is
      read. Turns are taken best first while they fit.
    - Turns are rendered as MemSIF's evidence is: dated, attributed, relative dates resolved.
    - BM25 compares stems of content words of the turn and its speaker's name.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memsif_ray.config import RunConfig
from memsif_ray.memory.lexical import LexicalIndex, lexical_terms
from memsif_ray.methods.base import Tables, Tools
from memsif_ray.methods.lines import turns_that_fit
from memsif_ray.text import is_blank
from memsif_ray.types import Context, Conversation, Message, Question

TOP_K = 100
RRF_K = 60

Ranking = Literal["dense", "bm25", "hybrid"]
Order = NDArray[np.intp]
"""Indices of turns, best first."""


class NaiveRag:
    """Retrieval of single turns.

    Args:
        config: Of the run.
        tools: Its embedder is used unless the ranking is lexical only.
        ranking: What decides which turns are best.
        neighbours: Turns shown before and after each turn found, as far as its session goes.
    """

    name = "naive-rag"

    def __init__(
        self, config: RunConfig, tools: Tools, *, ranking: Ranking = "dense", neighbours: int = 0
    ) -> None:
        """Nothing is known until `ingest` or `load`."""
        self._budget, self._tools = config.memory.retrieval.context_tokens, tools
        self._ranking, self._neighbours = ranking, neighbours
        self._messages: list[Message] = []
        self._vectors = np.zeros((0, 0), dtype=np.float32)
        self._lexical = LexicalIndex(())

    async def ingest(self, conversation: Conversation) -> None:
        """Index every turn that says something."""
        self._messages = [m for m in conversation.messages if not is_blank(m.content)]
        if self._ranking != "bm25" and self._messages:
            self._vectors = await self._tools.embedder.embed([m.content for m in self._messages])
        if self._ranking != "dense":
            self._lexical = LexicalIndex([lexical_terms(f"{m.speaker}: {m.content}") for m in self._messages])

    def dump(self) -> Tables:
        """Nothing beyond the conversation itself: vectors are in the embedding cache."""
        return {}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Ingest again: the embedding cache makes it cheap."""
        await self.ingest(conversation)

    async def context(self, question: Question) -> Context:
        """The best turns that fit the budget."""
        if not self._messages or is_blank(question.text):
            return Context(())
        best = (await self._ranked(question.text))[:TOP_K]
        shown = dict.fromkeys(near for i in best for near in self._around(int(i)))
        items = turns_that_fit([self._messages[i] for i in shown], self._budget, self._tools.tokens)
        return Context(items, retrieved_ids=tuple(self._messages[i].message_id for i in best))

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""

    async def _ranked(self, text: str) -> Order:
        if self._ranking == "bm25":
            return self._by_words(text)
        if self._ranking == "dense":
            return await self._by_meaning(text)
        return fused([await self._by_meaning(text), self._by_words(text)], len(self._messages))

    async def _by_meaning(self, text: str) -> Order:
        query = (await self._tools.embedder.embed([text]))[0]
        return np.argsort(-(self._vectors @ query), kind="stable")

    def _by_words(self, text: str) -> Order:
        """The turns that share a word with the question; the others are not found."""
        scores = self._lexical.scores(lexical_terms(text))
        best = np.argsort(-scores, kind="stable")
        return best[scores[best] > 0]

    def _around(self, index: int) -> Iterator[int]:
        """A turn, then its neighbours, nearest first."""
        yield index
        session = self._messages[index].session
        for distance in range(1, self._neighbours + 1):
            for near in (index - distance, index + distance):
                if 0 <= near < len(self._messages) and self._messages[near].session == session:
                    yield near


def fused(rankings: Sequence[Order], size: int) -> Order:
    """Reciprocal rank fusion: Σ 1 / (60 + rank), rank from 1; who is in no ranking is left out.

    Args:
        rankings: Each with indices below `size`, best first; may leave some out.
        size: Number of turns.
    """
    scores = np.zeros(size)
    for ranking in rankings:
        scores[ranking] += 1 / (RRF_K + 1 + np.arange(len(ranking)))
    best = np.argsort(-scores, kind="stable")
    return best[scores[best] > 0]
