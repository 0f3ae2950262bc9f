"""Mem0 (2025): short facts per speaker, kept true by the operations ADD, UPDATE, DELETE and NONE.

Paper:
    Chhikara et al. 2025, "Mem0: Building Production-Ready AI Agents with Scalable Long-Term Memory",
    arXiv 2504.19413.

Official code:
    github.com/mem0ai/mem0 and its folder `evaluation`, Apache-2.0; releases 0.1 to 1.0 hold this
    algorithm, later ones the additive one (`mem0:2026`).

Deviations:
    - Compact re-implementation from the published description, with prompts in our own words.
    - The rolling summary is one per conversation and renewed every 10 messages, as the paper says
      neither how often nor for whom.
    - Facts of all batches are extracted before the first update, which gives the same facts because
      extraction never sees memories.
    - 10 similar memories per fact are offered to an update, as in the paper; the official code has 5.
    - The model names only what changes and the facts already known, not every untouched memory.
    - Every speaker whose turns have the role `user` owns a store, so an assistant owns none, a lone
      speaker has one, and a group has one each; the evaluation knows two speakers only.
    - Memories of all speakers share the context's token budget by score instead of 30 each in full.
    - Prompts cut a new message at 3,000 characters and one before the batch at 300.
    - A memory cites all messages of the batches that taught it, for evidence recall.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from pydantic import Field

from memsif_ray.config import RunConfig, Strict
from memsif_ray.errors import ReplyInvalid
from memsif_ray.methods.asking import ask_with
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.mem0.batches import batches_of, memory_context, one_line, spoken_messages
from memsif_ray.methods.mem0.store import SpeakerStore
from memsif_ray.methods.together import together
from memsif_ray.text import is_blank
from memsif_ray.types import Context, Conversation, Decision, Message, Question


class Settings(Strict):
    """The paper's constants, and the evaluation's `top_k`."""

    batch: int = Field(2, ge=1, description="Messages read together")
    recent: int = Field(10, ge=0, description="Messages before a batch, shown as background")
    summary_every: int = Field(10, ge=0, description="Messages between two summaries; 0 = no summary")
    similar: int = Field(10, ge=1, description="Memories offered to an update, per new fact")
    top_k: int = Field(30, ge=1, description="Memories retrieved per speaker")


class Mem0:
    """One store of memories per speaker."""

    name = "mem0"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Nothing is known until `ingest` or `load`."""
        self._settings = settings_of(config, "mem0", Settings)
        self._budget, self._tools = config.memory.retrieval.context_tokens, tools
        self._stores: list[SpeakerStore] = []
        self._decisions: list[Decision] = []

    async def ingest(self, conversation: Conversation) -> None:
        """Summaries, then all extractions at once, then each speaker's updates in order."""
        messages = spoken_messages(conversation)
        batches = batches_of(messages, size=self._settings.batch, recent=self._settings.recent)
        summaries = await self._summaries(messages)
        owners = _owners(conversation.speakers, messages)
        self._stores = [
            SpeakerStore(owner, n, self._tools, similar=self._settings.similar)
            for n, owner in enumerate(owners)
        ]
        await together(
            store.learn(batches, [summaries[self._summary_at(batch.start)] for batch in batches])
            for store in self._stores
        )
        self._decisions.extend(decision for store in self._stores for decision in store.decisions)

    def dump(self) -> Tables:
        """Every version of every memory, which is Mem0's history table, and every operation."""
        return {
            "notes": [note for store in self._stores for note in store.book.log],
            "decisions": list(self._decisions),
        }

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restore the stores from their logs."""
        self._decisions = list(tables["decisions"])
        self._stores = []
        for owner, log in groupby(tables["notes"], key=lambda note: note.tags[0]):
            store = SpeakerStore(owner, len(self._stores), self._tools, similar=self._settings.similar)
            await store.book.restore(list(log))
            self._stores.append(store)

    async def context(self, question: Question) -> Context:
        """The nearest memories of every speaker."""
        if is_blank(question.text) or not self._stores:
            return Context(())
        query = (await self._tools.embedder.embed([question.text]))[0]
        found = [
            hit
            for store in self._stores
            for hit in store.book.nearest(query, list(store.book), k=self._settings.top_k)
        ]
        found.sort(key=lambda hit: -hit[1])
        return memory_context(found, budget=self._budget, tokens=self._tools.tokens)

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""

    def _summary_at(self, start: int) -> int:
        every = self._settings.summary_every
        return start // every if every else 0

    async def _summaries(self, messages: Sequence[Message]) -> list[str]:
        """Summaries of the first 0, n, 2n ... messages; each is written from the one before."""
        summaries = [""]
        every = self._settings.summary_every
        for end in range(every, len(messages), every) if every else ():
            window = messages[end - every : end]
            try:
                reply = await ask_with(
                    self._tools, "mem0/summary", max_tokens=500, summary=summaries[-1], messages=window
                )
                summaries.append(one_line(reply["summary"]) or summaries[-1])
            except ReplyInvalid as exc:
                summaries.append(summaries[-1])
                lost = Decision("summary", window[0].message_id, "kept", "fallback", detail=str(exc))
                self._decisions.append(lost)
        return summaries


def _owners(speakers: Sequence[str], messages: Sequence[Message]) -> list[str]:
    heard = {message.speaker for message in messages if message.role == "user"}
    return [speaker for speaker in dict.fromkeys(speakers) if speaker in heard]
