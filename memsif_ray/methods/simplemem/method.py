"""Compact re-implementation of SimpleMem: statements that stand alone, found by three indexes and reflection.

Paper:
    Liu et al., SimpleMem: Efficient Lifelong Memory for LLM Agents, 2026 (arXiv 2601.02553).
Official code:
    github.com/aiming-lab/SimpleMem, MIT; `simplemem` 0.1.0 on PyPI is far behind it.
Deviations:
    - Statements keep the ids of their messages, which the official code drops. Where the model names none,
      the message of the window that shares most words is the source.
    - A window whose reply stays unusable is kept message by message, verbatim; the official code loses it.
    - Windows are always read one after another, so that each is shown the first statements of the one
      before; the official code can also read them in parallel.
    - Information needs and queries are one call instead of two, and so are the completeness check and the
      queries for what is missing. Reflection also ends when a search finds nothing new.
    - The five results of the structured filter are those nearest to the question, where the official code
      takes any five. A statement without a time of its own counts by the day it was said, and names agree
      when they share a word.
    - Time words are read by the project's date grammar, relative to the question's own time where it has
      one.
    - The context takes statements by their greatest cosine to any query while they fit the run's budget;
      the official code shows all.
    - Statements shown to the completeness check are cut to fit the model's window, all at the same length,
      and so are the messages of a window.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, cast

from pydantic import Field

from memsif_ray.config import RunConfig
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.evidence import dated_line
from memsif_ray.methods.asking import ask_with
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.lines import chronological, pack
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.room import room, shortened
from memsif_ray.methods.simplemem.search import Search, SearchLimits, Statement
from memsif_ray.methods.sources import closest, numbered, ranked_ids, texts
from memsif_ray.text import is_blank
from memsif_ray.types import Context, ContextItem, Conversation, Decision, Message, Note, Question

_LISTED = 5
"""Most keywords, persons or entities kept of one statement."""


class Settings(SearchLimits):
    """SimpleMem's settings; defaults are the official code's."""

    window: int = Field(40, ge=1, description="Dialogues read at a time")
    overlap: int = Field(2, ge=0, description="Dialogues that a window shares with the one before")
    shown_before: int = Field(3, ge=0, description="Statements of the window before that are shown")
    statement_tokens: int = Field(4096, ge=1, description="Most tokens of one window's statements")


class SimpleMem:
    """A memory of statements."""

    name = "simplemem"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Nothing is known until `ingest` or `load`."""
        self._settings = settings_of(config, self.name, Settings)
        self._budget = config.memory.retrieval.context_tokens
        self._context_window = config.model.context_window
        self._tools = tools
        self._book = NoteBook(tools.embedder)
        self._decisions: list[Decision] = []

    async def ingest(self, conversation: Conversation) -> None:
        """Read the conversation window by window."""
        spoken = [m for m in conversation.messages if not is_blank(m.content)]
        notes: list[Note] = []
        before: list[Note] = []
        for number, window in enumerate(
            _windows(spoken, self._settings.window, self._settings.overlap), start=1
        ):
            repeated = self._settings.overlap if number > 1 else 0
            before = await self._read(f"window_{number:04d}", window, before=before, repeated=repeated)
            notes.extend(before)
        await self._book.write(notes)

    def dump(self) -> Tables:
        """The statements, and how each window fared."""
        return {"notes": self._book.log, "decisions": self._decisions}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restore the statements; only embeddings are made again."""
        self._decisions = list(tables.get("decisions", ()))
        await self._book.restore(tables.get("notes", ()))

    async def context(self, question: Question) -> Context:
        """The best statements found that fit the budget, in order of time."""
        statements = [_statement(note) for note in self._book]
        if not statements or is_blank(question.text):
            return Context(())
        search = Search(
            question,
            statements,
            book=self._book,
            tools=self._tools,
            limits=self._settings,
            window=self._context_window,
        )
        found = await search.run()
        items = [
            ContextItem(one.note.note_id, "statement", one.line, one.note.message_ids, one.said_at, score)
            for one, score in found
        ]
        return Context(
            chronological(pack(items, self._budget, self._tools.tokens)),
            retrieved_ids=ranked_ids(items),
            decisions=tuple(search.decisions),
        )

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""

    async def _read(
        self, window_id: str, window: Sequence[Message], *, before: list[Note], repeated: int
    ) -> list[Note]:
        try:
            listed = await self._listed(window, before)
        except ReplyInvalid as exc:
            self._decide(window_id, "verbatim", "fallback", str(exc))
            kept: list[_Read] = [(f"{m.speaker}: {m.content}", (m,), {}) for m in window[repeated:]]
        else:
            kept = [one for one in (_read_item(item, window) for item in listed) if one]
            refused = len(listed) - len(kept)
            self._decide(window_id, f"{len(kept)} statements", "llm", f"{refused} refused" if refused else "")
        return [_note(f"{window_id}_{n:02d}", *one) for n, one in enumerate(kept, start=1)]

    async def _listed(self, window: Sequence[Message], before: list[Note]) -> list[Any]:
        reply_tokens = min(self._settings.statement_tokens, self._context_window // 2)
        lines = [f"[{n}] {dated_line(m)}" for n, m in enumerate(window, start=1)]
        budget = room(self._context_window, reply=reply_tokens)
        reply = await ask_with(
            self._tools,
            "simplemem/statements",
            max_tokens=reply_tokens,
            temperature=self._settings.temperature,
            earlier=[note.text for note in before[: self._settings.shown_before]],
            lines=shortened(lines, budget=budget, tokens=self._tools.tokens),
        )
        return list(reply["statements"])

    def _decide(self, window_id: str, outcome: str, decided_by: str, detail: str) -> None:
        self._decisions.append(Decision("statements", window_id, outcome, decided_by, detail=detail))


def _windows(messages: Sequence[Message], size: int, overlap: int) -> Iterator[Sequence[Message]]:
    start = 0
    while start < len(messages):
        yield messages[start : start + size]
        if start + size >= len(messages):
            return
        start += max(1, size - overlap)


_Read = tuple[str, tuple[Message, ...], Mapping[str, Any]]
"""A statement, the messages that say it, and what else the model wrote about it."""


def _read_item(item: Any, window: Sequence[Message]) -> _Read | None:
    if not isinstance(item, Mapping) or not isinstance(item.get("statement"), str):
        return None
    statement = item["statement"]
    sources = numbered(item.get("messages"), window) or closest(statement, window)
    return None if is_blank(statement) or not sources else (statement, sources, item)


def _note(note_id: str, statement: str, sources: tuple[Message, ...], fields: Mapping[str, Any]) -> Note:
    listed = {
        name: texts(fields.get(name, ()), at_most=_LISTED) for name in ("keywords", "persons", "entities")
    }
    plain = {name: str(fields.get(name) or "") for name in ("time", "location", "topic")}
    return Note(
        note_id,
        "statement",
        statement,
        message_ids=tuple(m.message_id for m in sources),
        timestamp=max(m.timestamp for m in sources),
        tags=listed.pop("keywords"),
        detail=json.dumps({**listed, **plain}, ensure_ascii=False),
    )


def _statement(note: Note) -> Statement:
    detail = json.loads(note.detail)
    said_at = cast(datetime, note.timestamp)  # `_note` always gives one
    return Statement(
        note,
        said_at=said_at,
        happened_at=_time(detail["time"]) or said_at,
        location=detail["location"],
        persons=tuple(detail["persons"]),
        entities=tuple(detail["entities"]),
    )


def _time(text: str) -> datetime | None:
    try:
        return datetime.fromisoformat(text.strip()).replace(tzinfo=None)
    except ValueError:
        return None
