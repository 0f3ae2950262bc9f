"""LightMem: compressed messages, cut into topics, become facts that are revised in a sleep afterwards.

Paper:
    Fang et al. 2025, LightMem: Lightweight and Efficient Memory-Augmented Generation, arXiv 2510.18866.

Official code:
    github.com/zjunlp/LightMem, MIT; read for its buffers, queues and constants. The package `lightmem` on
    PyPI is something else.

Variants:
    - lightmem:nocompress: LightMem without its compressor: messages in full, topics by cosine alone.

Deviations:
    - Compact re-implementation with prompts in our own words.
    - Tokens are counted as the answer model does, not as the compressor does.
    - Neighbouring messages are compared, not pairs of a user's and an assistant's turn; an assistant's turns
      are left out altogether unless `assistant` is set.
    - The peak of attention between two messages is counted as the boundary between them; the official code
      is one position off, and then keeps, as here, the boundaries by cosine that lie within 3 positions.
    - A message longer than the sensory buffer is a topic of its own.
    - A fact that cites no message shown is refused; the official code takes the last message instead.
    - Earlier means earlier in time, or written earlier where times are equal, so that no two entries can
      change each other.
    - At most the 20 most similar later entries are shown for one target.
    - An updated entry is embedded anew and cites its sources; the official code keeps the old vector.
    - Compression is not metered: it is no language model's call.
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from pydantic import Field

from memsif_ray.config import RunConfig, Strict
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.dates import spoken
from memsif_ray.methods.asking import reply_or_reason
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.lightmem.buffers import Piece, batches, boundaries, topics
from memsif_ray.methods.lightmem.compression import MODEL, Compressor, llmlingua
from memsif_ray.methods.lightmem.sleep import sleep
from memsif_ray.methods.lines import chronological, pack
from memsif_ray.methods.note_lines import note_item
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.sources import ranked_ids
from memsif_ray.methods.together import together
from memsif_ray.text import is_blank
from memsif_ray.types import Context, Conversation, Decision, Message, Note, Question

STEP = timedelta(milliseconds=500)
"""Between the times of two messages of one session, whose time is all that the data gives."""
TOP_K = {"longmemeval": 20}
"""Entries retrieved, per dataset."""
TOP_K_OTHERWISE = 60


class Settings(Strict):
    """`baselines.lightmem.*`, for both variants."""

    compressor: str = Field(
        MODEL, description="Hub id of an LLMLingua-2 classifier, or a folder whose name contains it"
    )
    rate: float = Field(0.6, gt=0, le=1, description="Share of the tokens that compression keeps")
    sensory_tokens: int = Field(512, ge=1, description="Of the buffer that is cut into topics")
    short_term_tokens: int = Field(512, ge=1, description="Of topics per extraction (256, 512, 768, 1024)")
    update_score: float = Field(0.8, description="Least cosine of an update in sleep (library: 0.9)")
    top_k: int | None = Field(None, ge=1, description="Entries retrieved; None = 20 (LongMemEval) or 60")
    assistant: bool = Field(False, description="Also read an assistant's turns")


def with_compressor(config: RunConfig, tools: Tools) -> LightMem:
    """`lightmem`, as published.

    Raises:
        ConfigError: When LLMLingua-2 is not installed, or a setting is wrong.
    """
    settings = settings_of(config, "lightmem", Settings)
    return LightMem(config, tools, compressor=llmlingua(settings.compressor))


class LightMem:
    """Entries written without asking memory first; what they change is settled in a sleep."""

    def __init__(self, config: RunConfig, tools: Tools, *, compressor: Compressor | None = None) -> None:
        """Nothing is known until `ingest` or `load`.

        Args:
            config: Its `baselines.lightmem` holds the settings.
            tools: For models and counting.
            compressor: None = `lightmem:nocompress`.

        Raises:
            ConfigError: When a setting is wrong.
        """
        self.name = "lightmem" if compressor else "lightmem:nocompress"
        self._settings = settings_of(config, "lightmem", Settings)
        self._budget, self._tools, self._compressor = (
            config.memory.retrieval.context_tokens,
            tools,
            compressor,
        )
        self._book = NoteBook(tools.embedder)
        self._decisions: list[Decision] = []
        self._top_k = TOP_K_OTHERWISE

    async def ingest(self, conversation: Conversation) -> None:
        """Read everything, then sleep.

        Raises:
            ServiceError: When the endpoint or the embedder failed.
            ConfigError: When the compressor's weights cannot be loaded.
        """
        self._top_k = self._depth(conversation)
        messages = self._heard(conversation)
        if not messages:
            return
        contents = [m.content for m in messages]
        texts = await asyncio.to_thread(self._compressed, contents)
        costs = [self._tools.tokens.count(text) for text in texts]
        segments = await self._topics(texts, costs)
        found = await together(
            self._extract(batch, messages, texts)
            for batch in batches(segments, costs, threshold=self._settings.short_term_tokens)
        )
        facts = [fact for written, _ in found for fact in written]
        self._decisions += [decision for _, decision in found]
        await self._book.write(_entries(facts, messages, segments))
        self._decisions += await sleep(self._book, at_least=self._settings.update_score, tools=self._tools)

    def dump(self) -> Tables:
        """Entries with their update queues (`links` to earlier entries), and every decision."""
        return {"notes": self._book.log, "decisions": self._decisions}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restore the entries; nothing is compressed, extracted or revised again."""
        self._top_k = self._depth(conversation)
        self._decisions = list(tables["decisions"])
        await self._book.restore(tables["notes"])

    async def context(self, question: Question) -> Context:
        """The nearest entries that fit the budget, oldest first."""
        entries = list(self._book)
        if not entries or is_blank(question.text):
            return Context(())
        query = (await self._tools.embedder.embed([question.text]))[0]
        near = self._book.nearest(query, entries, k=self._top_k)
        ranked = [note_item(note, note.tags[0], score=score) for note, score in near]
        items = chronological(pack(ranked, self._budget, self._tools.tokens))
        return Context(items, retrieved_ids=ranked_ids(ranked))

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""

    def _depth(self, conversation: Conversation) -> int:
        return self._settings.top_k or TOP_K.get(conversation.dataset, TOP_K_OTHERWISE)

    def _heard(self, conversation: Conversation) -> list[Message]:
        return [
            m
            for m in conversation.messages
            if not is_blank(m.content) and (m.role == "user" or self._settings.assistant)
        ]

    def _compressed(self, contents: Sequence[str]) -> list[str]:
        if self._compressor is None:
            return list(contents)
        return [self._compressor.compress(content, rate=self._settings.rate) for content in contents]

    async def _topics(self, texts: Sequence[str], costs: Sequence[int]) -> list[Piece]:
        vectors = await self._tools.embedder.embed(texts)

        def cut(buffer: Piece) -> list[int]:
            said = [texts[n] for n in buffer]
            attention = None if self._compressor is None else self._compressor.attention(said)
            return boundaries(vectors[list(buffer)], attention)

        return await asyncio.to_thread(topics, costs, capacity=self._settings.sensory_tokens, cut=cut)

    async def _extract(
        self, batch: Sequence[Piece], messages: Sequence[Message], texts: Sequence[str]
    ) -> tuple[list[tuple[int, str]], Decision]:
        """Facts of one batch, each with the number of its message; an unusable reply costs this batch."""
        shown = [number for segment in batch for number in segment]
        subject = messages[shown[0]].message_id
        reply = await reply_or_reason(
            self._tools,
            "lightmem/extract",
            max_tokens=1500,
            topics=[[_line(shown.index(n) + 1, messages[n], texts[n]) for n in segment] for segment in batch],
        )
        if isinstance(reply, ReplyInvalid):
            return [], Decision("extract", subject, "no facts", "fallback", detail=str(reply))
        facts = [fact for item in reply["facts"] if (fact := _checked(item, shown))]
        refused = len(reply["facts"]) - len(facts)
        detail = f"{refused} refused" if refused else ""
        return facts, Decision("extract", subject, f"{len(facts)} facts", "llm", detail=detail)


def _line(number: int, message: Message, text: str) -> dict[str, Any]:
    date = f"{message.timestamp:%A}, {spoken(message.timestamp)}"
    return {"number": number, "date": date, "speaker": message.speaker, "text": text}


def _checked(item: Any, shown: Sequence[int]) -> tuple[int, str] | None:
    """A fact and its message, or None when either cannot be told."""
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
    source, fact = fields.get("source"), fields.get("fact")
    if type(source) is not int or not 1 <= source <= len(shown):
        return None
    if not isinstance(fact, str) or is_blank(fact):
        return None
    return shown[source - 1], fact.strip()


def _entries(
    facts: Sequence[tuple[int, str]], messages: Sequence[Message], segments: Sequence[Piece]
) -> list[Note]:
    topic_of = {number: topic for topic, segment in enumerate(segments) for number in segment}
    seen: Counter[int] = Counter()
    times = []
    for message in messages:
        times.append(message.timestamp + seen[message.session] * STEP)
        seen[message.session] += 1
    return [
        Note(
            note_id=f"entry_{n:04}",
            kind="entry",
            text=fact,
            message_ids=(messages[source].message_id,),
            timestamp=times[source],
            tags=(messages[source].speaker,),
            detail=json.dumps({"weekday": f"{times[source]:%A}", "topic": topic_of[source]}),
        )
        for n, (source, fact) in enumerate(facts)
    ]
