"""The memories about one speaker in Mem0's 2025 profile, and the operations that keep them true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.methods.asking import reply_or_reason
from memsif_ray.methods.base import Tools
from memsif_ray.methods.mem0.batches import Batch, one_line
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.together import together
from memsif_ray.types import Decision, Note


class SpeakerStore:
    """One speaker's notebook. Its log is Mem0's history table: each row names the event that wrote it."""

    def __init__(self, owner: str, number: int, tools: Tools, *, similar: int) -> None:
        """Start empty.

        Args:
            owner: The speaker.
            number: Tells the stores of a conversation apart in note ids.
            tools: Chat model and embedder.
            similar: Memories offered to an update, per new fact.
        """
        self.book = NoteBook(tools.embedder)
        self.decisions: list[Decision] = []
        self._owner, self._number = owner, number
        self._tools, self._similar = tools, similar
        self._added = 0

    async def learn(self, batches: Sequence[Batch], summaries: Sequence[str]) -> None:
        """Extract from every batch at once, then bring memory up to date in order of the batches.

        An unusable reply costs its batch and is a decision.

        Raises:
            ServiceError: When the endpoint or the embedder failed.
        """
        extracted = await together(map(self._extract, batches, summaries))
        for batch, facts in zip(batches, extracted, strict=True):
            if isinstance(facts, ReplyInvalid):
                self._decide("extract", batch.batch_id, "skipped", "fallback", str(facts))
            elif facts:
                await self._update(batch, facts)

    async def _extract(self, batch: Batch, summary: str) -> list[str] | ReplyInvalid:
        reply = await reply_or_reason(
            self._tools,
            "mem0/extract",
            max_tokens=600,
            owner=self._owner,
            summary=summary,
            recent=batch.recent,
            messages=batch.messages,
            date=batch.date,
        )
        if isinstance(reply, ReplyInvalid):
            return reply
        return [fact for fact in dict.fromkeys(map(one_line, reply["facts"])) if fact]

    async def _update(self, batch: Batch, facts: Sequence[str]) -> None:
        offered = await self._near(facts)
        reply = await reply_or_reason(
            self._tools,
            "mem0/update",
            max_tokens=1000,
            owner=self._owner,
            memories=[note.text for note in offered],
            facts=facts,
        )
        if isinstance(reply, ReplyInvalid):
            self._decide("update", batch.batch_id, "skipped", "fallback", str(reply))
            return
        for action in reply["actions"]:
            await self._apply(action if isinstance(action, dict) else {}, offered, batch)

    async def _near(self, facts: Sequence[str]) -> list[Note]:
        """Memories near any of the facts, each once; their places are the ids that the model sees."""
        known = list(self.book)
        if not known:
            return []
        vectors = await self._tools.embedder.embed(facts)
        hits = [self.book.nearest(vector, known, k=self._similar) for vector in vectors]
        return list({note.note_id: note for near in hits for note, _ in near}.values())

    async def _apply(self, action: dict[str, Any], offered: Sequence[Note], batch: Batch) -> None:
        """Carry out one operation; one that names no event, no memory on offer or no text is refused."""
        event, text = one_line(action.get("event")).upper(), one_line(action.get("text"))
        target = self._target(action.get("id"), offered)
        match event, target:
            case "ADD", _ if text:
                target = batch.memory(self._next_id(), text, tags=(self._owner,), detail=event)
                await self.book.write([target])
            case "UPDATE", Note() if text:
                newer = batch.memory(target.note_id, text, tags=(self._owner,), detail=event)
                sources = dict.fromkeys(target.message_ids + newer.message_ids)
                await self.book.write([replace(newer, message_ids=tuple(sources))])
            case "DELETE", Note():
                self.book.delete(target.note_id)
            case "NONE", _:
                pass
            case _:
                self._decide("update", batch.batch_id, "refused", "rule", f"{action!r:.120}")
                return
        self._decide("update", target.note_id if target else batch.batch_id, event, "llm")

    def _target(self, number: Any, offered: Sequence[Note]) -> Note | None:
        """The current version of the memory that the model calls `number`, if it is still there."""
        if type(number) is not int or not 0 <= number < len(offered):
            return None
        note = self.book[offered[number].note_id]
        return note if note.active else None

    def _next_id(self) -> str:
        self._added += 1
        return f"m{self._number}-{self._added:04}"

    def _decide(self, kind: str, subject: str, outcome: str, by: str, detail: str = "") -> None:
        self.decisions.append(Decision(kind, f"{self._owner}/{subject}", outcome, by, detail=detail))
