"""Mem0 (2026): one additive extraction per batch, and a search that adds words and entities to vectors.

Paper:
    None on this algorithm; that of the system is Chhikara et al. 2025, arXiv 2504.19413.

Official code:
    github.com/mem0ai/mem0, Apache-2.0; the algorithm of release 2 and later. Its scoring module was read.

Deviations:
    - Compact re-implementation from the published description, with prompts in our own words.
    - One store holds the memories of all speakers, each attributed to one of them, so one, two, many
      speakers and an assistant are treated alike.
    - Batches are of 2 messages, as in the 2025 evaluation.
    - Entities come from the run's shared extractor and BM25 from the shared index, not from the official
      spaCy pipeline and vector store.
    - Of a question with more than 8 entities the first 8 in alphabetical order count.
    - Prompts cut a new message at 3,000 characters and one before the batch at 300.
    - A memory cites all messages of the batch that taught it, for evidence recall.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from hashlib import md5
from typing import Any

import numpy as np
from pydantic import Field

from memsif_ray.config import RunConfig, Strict
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.lexical import LexicalIndex, lexical_terms
from memsif_ray.methods.asking import ask_with
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.mem0.batches import (
    Batch,
    batches_of,
    memory_context,
    one_line,
    spoken_messages,
)
from memsif_ray.methods.mem0.entities import WEIGHT, EntityIndex
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.text import is_blank
from memsif_ray.types import Context, Conversation, Decision, Note, Question, Vector

QUERY_ENTITIES = 8
"""Most entities of a question that count."""
_SIGMOIDS = ((3, 5.0, 0.7), (6, 7.0, 0.6), (9, 9.0, 0.5), (15, 10.0, 0.5), (math.inf, 12.0, 0.5))
"""Most query terms, midpoint, steepness: longer queries have higher BM25 scores."""


class Settings(Strict):
    """The official defaults."""

    batch: int = Field(2, ge=1, description="Messages read together")
    recent: int = Field(10, ge=0, description="Messages before a batch, shown as background")
    similar: int = Field(10, ge=0, description="Memories shown to an extraction")
    top_k: int = Field(20, ge=1, description="Memories retrieved")
    least_cosine: float = Field(0.1, description="A memory below it is never retrieved")
    same_entity: float = Field(0.95, description="Cosine at or above it: two names of one entity")
    like_entity: float = Field(0.5, description="Cosine at or above it: an entity that the question means")


class Mem0Additive:
    """One growing store; nothing is ever changed or deleted."""

    name = "mem0:2026"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Nothing is known until `ingest` or `load`."""
        self._settings = settings_of(config, self.name, Settings)
        self._budget, self._tools = config.memory.retrieval.context_tokens, tools
        self._book = NoteBook(tools.embedder)
        self._entities = EntityIndex(self._book, tools.embedder)
        self._decisions: list[Decision] = []
        self._index()

    async def ingest(self, conversation: Conversation) -> None:
        """Batch by batch, because each extraction sees what the ones before have stored."""
        messages = spoken_messages(conversation)
        for batch in batches_of(messages, size=self._settings.batch, recent=self._settings.recent):
            try:
                facts = await self._extract(batch)
            except ReplyInvalid as exc:
                skipped = Decision("extract", batch.batch_id, "skipped", "fallback", detail=str(exc))
                self._decisions.append(skipped)
            else:
                await self._add(facts, batch)
        self._index()

    def dump(self) -> Tables:
        """Memories, linked to their entities, and what was refused."""
        return {"notes": list(self._book.log), "decisions": list(self._decisions)}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restore the store from its log."""
        self._book = NoteBook(self._tools.embedder)
        await self._book.restore(tables["notes"])
        self._entities = EntityIndex(self._book, self._tools.embedder)
        self._decisions = list(tables["decisions"])
        self._index()

    async def context(self, question: Question) -> Context:
        """The memories with the highest sum of cosine, BM25 and entity boost."""
        if is_blank(question.text):
            return Context(())
        query = (await self._tools.embedder.embed([question.text]))[0]
        words = self._word_scores(question.text)
        names = sorted(self._tools.entities.extract([question.text])[0])[:QUERY_ENTITIES]
        boosts = await self._entities.boosts(names, alike=self._settings.like_entity)
        ranked = self._ranked(query, words, boosts)
        return memory_context(ranked, budget=self._budget, tokens=self._tools.tokens)

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""

    async def _extract(self, batch: Batch) -> list[tuple[str, str]]:
        """New facts as (speaker, text); one about nobody is the first speaker's."""
        said = "\n".join(message.content for message in batch.messages)
        query = (await self._tools.embedder.embed([said]))[0]
        near = self._book.nearest(query, self._book.of_kind("memory"), k=self._settings.similar)
        reply = await ask_with(
            self._tools,
            "mem0/extract_all",
            stage="extract",
            max_tokens=800,
            memories=[note.text for note, _ in near],
            recent=batch.recent,
            messages=batch.messages,
            date=batch.date,
        )
        return [fact for item in reply["facts"] if (fact := _attributed(item, batch))]

    async def _add(self, facts: Sequence[tuple[str, str]], batch: Batch) -> None:
        """Write the facts whose text is not stored yet, and link them to their entities."""
        memories = self._book.of_kind("memory")
        stored = {note.detail for note in memories}
        fresh: list[Note] = []
        for speaker, text in facts:
            digest = md5(text.encode(), usedforsecurity=False).hexdigest()
            if digest in stored:
                self._decisions.append(Decision("add", batch.batch_id, "duplicate", "rule", detail=text))
                continue
            stored.add(digest)
            note_id = f"memory_{len(memories) + len(fresh):04}"
            fresh.append(batch.memory(note_id, text, tags=(speaker,), detail=digest))
        await self._book.write(await self._linked(fresh))

    async def _linked(self, memories: Sequence[Note]) -> list[Note]:
        names = [sorted(found) for found in self._tools.entities.extract([note.text for note in memories])]
        links = await self._entities.link(names, alike=self._settings.same_entity)
        return [replace(note, links=linked) for note, linked in zip(memories, links, strict=True)]

    def _index(self) -> None:
        """Index what the book holds, so that questions find it."""
        self._memories = self._book.of_kind("memory")
        self._lexical = LexicalIndex([lexical_terms(note.text) for note in self._memories])

    def _ranked(
        self, query: Vector, words: Mapping[str, float], boosts: Mapping[str, float]
    ) -> list[tuple[Note, float]]:
        """The best memories by their share of the highest possible sum; only near ones are candidates."""
        near = self._book.nearest(query, self._memories, k=self._pool, at_least=self._settings.least_cosine)
        ceiling = 1 + bool(words) + WEIGHT * bool(boosts)
        scored = [
            (note, min(1.0, (cosine + words.get(note.note_id, 0) + boosts.get(note.note_id, 0)) / ceiling))
            for note, cosine in near
        ]
        return sorted(scored, key=lambda hit: -hit[1])[: self._settings.top_k]

    @property
    def _pool(self) -> int:
        return max(4 * self._settings.top_k, 60)

    def _word_scores(self, text: str) -> dict[str, float]:
        """BM25 through a sigmoid, for the memories that share a word with the question."""
        asked = lexical_terms(text)
        scores = self._lexical.scores(asked)
        best = np.argsort(-scores, kind="stable")[: self._pool]
        return {
            self._memories[i].note_id: normalised(float(scores[i]), terms=len(asked))
            for i in best
            if scores[i] > 0
        }


def normalised(score: float, *, terms: int) -> float:
    """A BM25 score as a number from 0 to 1; longer queries have higher scores, so their middle is higher."""
    _, middle, steepness = next(row for row in _SIGMOIDS if terms <= row[0])
    return 1 / (1 + math.exp(-steepness * (score - middle)))


def _attributed(item: Any, batch: Batch) -> tuple[str, str] | None:
    """(speaker, text) of one extracted fact; None when it has no text."""
    fields = item if isinstance(item, dict) else {}
    text, speaker = one_line(fields.get("text")), one_line(fields.get("speaker"))
    heard = {m.speaker.casefold(): m.speaker for m in (*batch.recent, *batch.messages)}
    return (heard.get(speaker.casefold(), batch.messages[0].speaker), text) if text else None
