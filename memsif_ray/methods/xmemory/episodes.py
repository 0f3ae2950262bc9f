"""xMemory's write path: episodes cut by a model, and the facts that a prediction of each episode missed."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import Field

from memsif_ray.config import Strict
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.dates import spoken
from memsif_ray.memory.evidence import dated_line
from memsif_ray.methods.asking import reply_or_reason
from memsif_ray.methods.base import Tools
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.room import room, shortened
from memsif_ray.methods.sources import closest, dated, numbered
from memsif_ray.methods.together import together
from memsif_ray.prompts import escape
from memsif_ray.text import is_blank, truncate
from memsif_ray.types import Decision, Message, Note

_EXCERPT = 600
"""Characters of an episode that stand in for its narrative."""
_BOUNDARY_TOKENS, _NARRATIVE_TOKENS, _PREDICTION_TOKENS, _FACT_TOKENS, _THEME_TOKENS = 16, 400, 300, 1024, 120


class WritingLimits(Strict):
    """How episodes are cut and facts are extracted; defaults are the official library's."""

    buffer_min: int = Field(2, ge=1, description="Messages of an episode before it may end")
    buffer_max: int = Field(25, ge=1, description="Messages after which it ends in any case")
    known_top_k: int = Field(10, ge=1, description="Known facts that a prediction is made from")
    known_at_least: float = Field(0.7, ge=-1, le=1, description="Their least cosine to the episode")


@dataclass
class Writer:
    """What the steps of writing share; `decisions` grows as they go. `window` is the model's, in tokens."""

    tools: Tools
    limits: WritingLimits
    window: int
    decisions: list[Decision] = field(default_factory=list)

    async def cut(self, messages: Sequence[Message]) -> list[list[Message]]:
        """Episodes: before each message a model says whether a new one begins.

        Raises:
            ServiceError: When the endpoint failed.
        """
        episodes: list[list[Message]] = []
        for message in messages:
            if episodes and not await self._begins(message, episodes[-1]):
                episodes[-1].append(message)
            else:
                episodes.append([message])
        return episodes

    async def narrate(self, episodes: Sequence[Sequence[Message]]) -> list[Note]:
        """A note with title and narrative per episode.

        Raises:
            ServiceError: When the endpoint failed.
        """
        replies = await together(
            self._ask("narrate", _NARRATIVE_TOKENS, lines=self._lines(episode, _NARRATIVE_TOKENS))
            for episode in episodes
        )
        return [
            self._episode(f"episode_{number:04d}", messages, reply)
            for number, (messages, reply) in enumerate(zip(episodes, replies, strict=True), start=1)
        ]

    async def learn(self, book: NoteBook, episodes: Sequence[Note], messages: Mapping[str, Message]) -> None:
        """Write into `book` the facts of each of its episodes that those before do not let one predict.

        Raises:
            ServiceError: When the endpoint failed.
        """
        for episode in episodes:
            said = [messages[message_id] for message_id in episode.message_ids]
            prediction = await self._predict(book, episode)
            reply = await self._ask(
                "facts",
                _FACT_TOKENS,
                prediction=prediction,
                lines=self._lines(said, _FACT_TOKENS, numbers=True),
            )
            await book.write(self._facts(episode, said, reply))

    async def summarise(self, themes: Sequence[tuple[Sequence[Note], Note]]) -> list[Note]:
        """A note per theme, given its facts and the most central of them; one fact is its own summary.

        Raises:
            ServiceError: When the endpoint failed.
        """
        texts = await together(self._summary(facts) for facts, _ in themes)
        return [
            self._theme(f"theme_{number:04d}", facts, central, text)
            for number, ((facts, central), text) in enumerate(zip(themes, texts, strict=True), start=1)
        ]

    async def _ask(self, name: str, max_tokens: int, **values: Any) -> Any:
        return await reply_or_reason(self.tools, f"xmemory/{name}", max_tokens=max_tokens, **values)

    async def _begins(self, message: Message, current: Sequence[Message]) -> bool:
        if len(current) < self.limits.buffer_min:
            return self._decided(message, False, "rule", "too few")
        if len(current) >= self.limits.buffer_max:
            return self._decided(message, True, "rule", "full")
        lines = self._lines(current, _BOUNDARY_TOKENS)
        reply = await self._ask("boundary", _BOUNDARY_TOKENS, current=lines, message=dated_line(message))
        if isinstance(reply, ReplyInvalid):
            return self._decided(message, False, "fallback", str(reply))
        return self._decided(message, reply["boundary"], "llm", "")

    def _decided(self, message: Message, begins: bool, decided_by: str, detail: str) -> bool:
        outcome = "split" if begins else "append"
        self._note("boundary", message.message_id, outcome, decided_by, detail)
        return begins

    def _episode(self, note_id: str, messages: Sequence[Message], reply: Any) -> Note:
        title, narrative = f"Talk of {spoken(messages[0].timestamp)}", ""
        if isinstance(reply, ReplyInvalid):
            self._note("narrate", note_id, "excerpt", "fallback", str(reply))
        else:
            title, narrative = reply["title"].strip() or title, reply["narrative"].strip()
        narrative = narrative or truncate(" ".join(f"{m.speaker}: {m.content}" for m in messages), _EXCERPT)
        return Note(
            note_id,
            "episode",
            f"{title}. {narrative}",
            message_ids=tuple(m.message_id for m in messages),
            timestamp=messages[0].timestamp,
            detail=json.dumps({"title": title}, ensure_ascii=False),
        )

    async def _predict(self, book: NoteBook, episode: Note) -> str:
        """What known facts let one expect of an episode; "" at a cold start, or when no fact is near."""
        vector = book.vector(episode.note_id)
        facts = book.of_kind("fact")
        limits = self.limits
        known = (
            []
            if vector is None
            else book.nearest(vector, facts, k=limits.known_top_k, at_least=limits.known_at_least)
        )
        if not known:
            return ""
        lines = [note_line(fact) for fact, _ in known]
        title = json.loads(episode.detail)["title"]
        reply = await self._ask("predict", _PREDICTION_TOKENS, facts=lines, title=title)
        if isinstance(reply, ReplyInvalid):
            self._note("predict", episode.note_id, "none", "fallback", str(reply))
            return ""
        return str(reply)

    def _facts(self, episode: Note, messages: Sequence[Message], reply: Any) -> list[Note]:
        if isinstance(reply, ReplyInvalid):
            self._note("facts", episode.note_id, "none", "fallback", str(reply))
            return []
        facts = [
            _fact(f"{episode.note_id}_{number:02d}", episode, item, messages)
            for number, item in enumerate(reply["facts"], start=1)
        ]
        kept = [fact for fact in facts if fact is not None]
        refused = len(facts) - len(kept)
        detail = f"{refused} refused" if refused else ""
        self._note("facts", episode.note_id, f"{len(kept)} facts", "llm", detail)
        return kept

    async def _summary(self, facts: Sequence[Note]) -> Any:
        if len(facts) == 1:
            return facts[0].text
        return await self._ask("theme", _THEME_TOKENS, facts=[note_line(fact) for fact in facts])

    def _theme(self, note_id: str, facts: Sequence[Note], central: Note, text: Any) -> Note:
        if isinstance(text, ReplyInvalid):
            self._note("theme", note_id, "central fact", "fallback", str(text))
            text = central.text
        return Note(
            note_id,
            "theme",
            text,
            message_ids=tuple(dict.fromkeys(mid for fact in facts for mid in fact.message_ids)),
            links=tuple(fact.note_id for fact in facts),
        )

    def _lines(self, messages: Sequence[Message], reply: int, *, numbers: bool = False) -> list[str]:
        lines = [dated_line(m) for m in messages]
        if numbers:
            lines = [f"[{number}] {line}" for number, line in enumerate(lines, start=1)]
        return shortened(lines, budget=room(self.window, reply=reply), tokens=self.tools.tokens)

    def _note(self, kind: str, subject_id: str, outcome: str, decided_by: str, detail: str) -> None:
        self.decisions.append(Decision(kind, subject_id, outcome, decided_by, detail=detail))


def note_line(note: Note) -> str:
    """A note as a line of a context: dated, unless it spans times."""
    return escape(note.text) if note.timestamp is None else dated(note.text, note.timestamp)


def _fact(note_id: str, episode: Note, item: Any, messages: Sequence[Message]) -> Note | None:
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
    statement = fields.get("statement")
    if not isinstance(statement, str) or is_blank(statement):
        return None
    # A fact without a source that it shares a word with rests on the whole episode.
    sources = numbered(fields.get("messages"), messages) or closest(statement, messages) or tuple(messages)
    return Note(
        note_id,
        "fact",
        statement,
        message_ids=tuple(m.message_id for m in sources),
        timestamp=max(m.timestamp for m in sources),
        links=(episode.note_id,),
    )
