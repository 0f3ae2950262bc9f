"""SimpleMem's read path: planned dense queries, keywords, a structured filter, reflection (section 3.3)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Any

import numpy as np
from pydantic import Field

from memsif_ray.config import Strict
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.dates import TimeRef, parse_question_time
from memsif_ray.memory.lexical import LexicalIndex, lexical_terms
from memsif_ray.methods.asking import reply_or_reason
from memsif_ray.methods.base import Tools
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.room import room, shortened
from memsif_ray.methods.sources import dated, texts
from memsif_ray.methods.together import together
from memsif_ray.text import words
from memsif_ray.types import Decision, Note, Question, Vector

_REPLY = 400
"""Tokens of a plan, an analysis or a completeness check; their schemas allow little more."""
_QUERIES, _KEYWORDS, _NAMES = 3, 8, 4
_WEEK = timedelta(days=7)


class SearchLimits(Strict):
    """How far one question's search goes."""

    dense_top_k: int = Field(25, ge=1, description="Statements per dense query")
    keyword_top_k: int = Field(5, ge=0)
    structured_top_k: int = Field(5, ge=0)
    reflection_rounds: int = Field(2, ge=0)
    temperature: float = Field(0.1, ge=0)


@dataclass(frozen=True, slots=True)
class Statement:
    """A note with its metadata. Without a time of its own it happened when it was said."""

    note: Note
    said_at: datetime
    happened_at: datetime
    location: str
    persons: tuple[str, ...]
    entities: tuple[str, ...]

    @property
    def line(self) -> str:
        """Dated as MemSIF's evidence is."""
        return dated(self.note.text, self.said_at)


@dataclass(frozen=True, slots=True)
class Conditions:
    """What a question itself names: all of it must hold of a statement, but one of several persons will do.

    `period` is inclusive on both ends.
    """

    persons: tuple[str, ...] = ()
    location: str = ""
    entities: tuple[str, ...] = ()
    period: tuple[datetime, datetime] | None = None

    def __bool__(self) -> bool:
        """False when nothing is asked for: then there is no structured search."""
        return bool(self.persons or self.location or self.entities or self.period)

    def hold_of(self, statement: Statement) -> bool:
        """Names agree when they share a word, so that "Ann" finds "Ann Lee"."""
        return (
            (not self.persons or _share_a_word(self.persons, statement.persons))
            and (not self.location or _share_a_word([self.location], [statement.location]))
            and (not self.entities or _share_a_word(self.entities, statement.entities))
            and (not self.period or self.period[0] <= statement.happened_at <= self.period[1])
        )


class Search:
    """One question's search.

    Attributes:
        decisions: How it was planned, analysed and reflected on.
    """

    def __init__(
        self,
        question: Question,
        statements: Sequence[Statement],
        *,
        book: NoteBook,
        tools: Tools,
        limits: SearchLimits,
        window: int,
    ) -> None:
        """Know all statements, and have found none; `window` is the model's, in tokens."""
        self.decisions: list[Decision] = []
        self._question, self._limits, self._window = question, limits, window
        self._book, self._tools = book, tools
        self._by_id = {one.note.note_id: one for one in statements}
        self._found: dict[str, Statement] = {}
        self._vectors: list[Vector] = []

    async def run(self) -> list[tuple[Statement, float]]:
        """The union of all that was found, with its greatest cosine to any query, best first.

        Raises:
            ServiceError: When the endpoint failed.
        """
        text = self._question.text
        plan, analysis = await together(
            [self._ask("plan", question=text), self._ask("analyse", question=text)]
        )
        queries, (keywords, conditions) = self._planned(plan), self._analysed(analysis)
        await self._dense(queries)
        self._add(self._by_keyword(keywords))
        self._add(self._by_condition(conditions))
        asked = list(queries)
        for _ in range(self._limits.reflection_rounds):
            missing = [query for query in await self._missing() if query not in asked]
            known = len(self._found)
            if missing:
                await self._dense(missing)
            if len(self._found) == known:
                break
            asked.extend(missing)
        scores = np.max([self._scores(vector) for vector in self._vectors], axis=0)
        best = np.argsort(-scores, kind="stable")
        found = list(self._found.values())
        return [(found[i], float(scores[i])) for i in best]

    def _planned(self, reply: Any) -> tuple[str, ...]:
        """The question and up to three targeted queries."""
        if isinstance(reply, ReplyInvalid):
            self._decide("plan", "question only", "fallback", str(reply))
            return (self._question.text,)
        queries = texts(reply["queries"], at_most=_QUERIES)
        self._decide("plan", f"{len(queries)} queries", "llm", "; ".join(queries))
        return tuple(dict.fromkeys((self._question.text, *queries)))

    def _analysed(self, reply: Any) -> tuple[tuple[str, ...], Conditions]:
        """Keywords and conditions; when the reply is unusable, the question's words and no condition."""
        if isinstance(reply, ReplyInvalid):
            self._decide("analyse", "question only", "fallback", str(reply))
            return (self._question.text,), Conditions()
        conditions = _conditions(reply, self._question.asked_at)
        self._decide("analyse", "filtered" if conditions else "no filter", "llm", "")
        return texts(reply["keywords"], at_most=_KEYWORDS), conditions

    async def _dense(self, queries: Sequence[str]) -> None:
        vectors = await self._tools.embedder.embed(queries)
        self._vectors.extend(vectors)
        notes = [one.note for one in self._by_id.values()]
        for vector in vectors:
            self._add(note for note, _ in self._book.nearest(vector, notes, k=self._limits.dense_top_k))

    def _by_keyword(self, keywords: Sequence[str]) -> list[Note]:
        notes = [one.note for one in self._by_id.values()]
        index = LexicalIndex([lexical_terms(" ".join((note.text, *note.tags))) for note in notes])
        scores = index.scores(lexical_terms(" ".join(keywords)))
        best = np.argsort(-scores, kind="stable")[: self._limits.keyword_top_k]
        return [notes[i] for i in best if scores[i] > 0]

    def _by_condition(self, conditions: Conditions) -> list[Note]:
        if not conditions:
            return []
        notes = [one.note for one in self._by_id.values() if conditions.hold_of(one)]
        nearest = self._book.nearest(self._vectors[0], notes, k=self._limits.structured_top_k)
        return [note for note, _ in nearest]

    async def _missing(self) -> tuple[str, ...]:
        """Queries for what is missing; none when the statements are complete."""
        budget = room(self._window, reply=_REPLY)
        lines = [one.line for one in self._found.values()]
        reply = await self._ask(
            "complete",
            statements=shortened(lines, budget=budget, tokens=self._tools.tokens),
            question=self._question.text,
        )
        if isinstance(reply, ReplyInvalid):
            self._decide("complete", "stop", "fallback", str(reply))
            return ()
        queries = () if reply["complete"] else texts(reply["queries"], at_most=_QUERIES)
        self._decide("complete", "search on" if queries else "complete", "llm", "; ".join(queries))
        return queries

    def _scores(self, vector: Vector) -> Vector:
        return self._book.matrix([one.note for one in self._found.values()]) @ vector

    def _add(self, notes: Iterable[Note]) -> None:
        for note in notes:
            self._found.setdefault(note.note_id, self._by_id[note.note_id])

    async def _ask(self, name: str, **values: Any) -> Any:
        return await reply_or_reason(
            self._tools,
            f"simplemem/{name}",
            max_tokens=_REPLY,
            temperature=self._limits.temperature,
            question_id=self._question.question_id,
            **values,
        )

    def _decide(self, kind: str, outcome: str, decided_by: str, detail: str) -> None:
        self.decisions.append(Decision(kind, self._question.question_id, outcome, decided_by, detail=detail))


def _conditions(reply: Mapping[str, Any], asked_at: datetime | None) -> Conditions:
    return Conditions(
        texts(reply["persons"], at_most=_NAMES),
        reply["location"].strip(),
        texts(reply["entities"], at_most=_NAMES),
        _period(reply["time"], parse_question_time(reply["time"], asked_at)),
    )


def _period(said: str, when: TimeRef | None) -> tuple[datetime, datetime] | None:
    """First and last moment; words about a week are vague, so it is widened by seven days on both sides."""
    if when is None:
        return None
    start = datetime.combine(when.start, time.min)
    stop = datetime.combine(when.end, time.max)
    return (start - _WEEK, stop + _WEEK) if "week" in words(said) else (start, stop)


def _share_a_word(some: Iterable[str], others: Iterable[str]) -> bool:
    return not set(words(" ".join(some))).isdisjoint(words(" ".join(others)))
