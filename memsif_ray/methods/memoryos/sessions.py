"""MemoryOS's mid-term memory: sessions of pages on one topic, and how hot each of them is."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Set
from dataclasses import asdict, dataclass, replace
from datetime import datetime

from memsif_ray.methods.memoryos.pages import Topic
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.types import Note, Vector

KIND = "session"
COOLING_H = 24.0
"""Hours after which the recency of a session has fallen to 1/e."""


@dataclass(frozen=True, slots=True)
class Usage:
    """How a session has been used; kept as JSON in its note's `detail`.

    Attributes:
        last_used: Time of the page or question that used it last.
        visits: Questions that retrieved its pages since it was last analysed.
        pages: Pages inserted since then.
        uses: Visits and pages ever; the least used session leaves a full memory.
        analysed: How many of its pages, from the first, have been analysed.
    """

    last_used: datetime
    visits: int = 0
    pages: int = 0
    uses: int = 0
    analysed: int = 0

    @classmethod
    def of(cls, session: Note) -> Usage:
        """What a session's note says."""
        fields = json.loads(session.detail)
        return cls(**{**fields, "last_used": datetime.fromisoformat(fields["last_used"])})

    @property
    def detail(self) -> str:
        """As a note keeps it."""
        return json.dumps({**asdict(self), "last_used": self.last_used.isoformat()})

    def heat(self, now: datetime) -> float:
        """Visits + pages + exp(-hours since it was last used / 24), all three weighted 1."""
        hours = max(0.0, (now - self.last_used).total_seconds() / 3600)
        return self.visits + self.pages + math.exp(-hours / COOLING_H)

    def used(self, now: datetime, *, visits: int = 0, pages: int = 0) -> Usage:
        """After some more use. A time before the last use does not turn it back."""
        return replace(
            self,
            last_used=max(now, self.last_used),
            visits=self.visits + visits,
            pages=self.pages + pages,
            uses=self.uses + visits + pages,
        )


class MidTerm:
    """The sessions in a notebook. `links` of a session are its pages, `tags` its keywords."""

    def __init__(self, book: NoteBook, *, capacity: int, threshold: float) -> None:
        """Work on `book`.

        Args:
            book: Where the sessions are.
            capacity: Most sessions.
            threshold: Least cosine + Jaccard at which a page joins a session.
        """
        self._book, self._capacity, self._threshold = book, capacity, threshold
        self._opened = 0

    async def insert(
        self, page_id: str, topic: Topic, vector: Vector, now: datetime
    ) -> tuple[str, float | None]:
        """Put a page into the best session for a topic, or into a new one.

        A session keeps the summary and the keywords with which it was opened.

        Args:
            page_id: Of the page.
            topic: What the page is about.
            vector: Unit vector of the topic's summary, shape (dim,).
            now: When the page left the short-term queue.

        Returns:
            The session's id, and the score with which the page joined; None for a new session.

        Raises:
            ServiceError: When the embedder failed.
        """
        session, score = self._best(topic, vector)
        if session is None or score < self._threshold:
            return await self._open(page_id, topic, now), None
        if page_id not in session.links:
            usage = Usage.of(session).used(now, pages=1)
            joined = replace(session, links=(*session.links, page_id), timestamp=now, detail=usage.detail)
            await self._book.write([joined])
        return session.note_id, score

    async def visit(self, page_ids: Collection[str], now: datetime) -> None:
        """Count one visit for each session that holds one of the pages.

        Raises:
            ServiceError: When the embedder failed.
        """
        visited = [note for note in self._sessions() if not set(note.links).isdisjoint(page_ids)]
        await self._book.write(
            [replace(note, detail=Usage.of(note).used(now, visits=1).detail) for note in visited]
        )

    def hottest(self, now: datetime) -> tuple[Note, float] | None:
        """The hottest session with pages not analysed yet, and its heat; None when there is none."""
        waiting = [note for note in self._sessions() if unread(note)]
        heats = [(note, Usage.of(note).heat(now)) for note in waiting]
        return max(heats, key=lambda one: one[1], default=None)

    async def cool(self, session: Note, now: datetime) -> None:
        """Start counting anew after a session was analysed.

        Raises:
            ServiceError: When the embedder failed.
        """
        usage = replace(Usage.of(session).used(now), visits=0, pages=0, analysed=len(session.links))
        await self._book.write([replace(session, detail=usage.detail)])

    def _best(self, topic: Topic, vector: Vector) -> tuple[Note | None, float]:
        sessions = self._sessions()
        near = self._book.nearest(vector, sessions, k=len(sessions))
        scored = [(note, cosine + jaccard(topic.keywords, frozenset(note.tags))) for note, cosine in near]
        return max(scored, key=lambda hit: hit[1], default=(None, 0.0))

    async def _open(self, page_id: str, topic: Topic, now: datetime) -> str:
        note_id = f"session_{self._opened:04}"
        self._opened += 1
        keywords = tuple(sorted(topic.keywords))
        detail = Usage(now, pages=1, uses=1).detail
        await self._book.write([Note(note_id, KIND, topic.summary, (), now, (page_id,), keywords, detail)])
        sessions = self._sessions()
        if len(sessions) > self._capacity:
            self._book.delete(min(sessions, key=lambda note: Usage.of(note).uses).note_id)
        return note_id

    def _sessions(self) -> list[Note]:
        return self._book.of_kind(KIND)


def unread(session: Note) -> tuple[str, ...]:
    """Ids of a session's pages that no analysis has read."""
    return session.links[Usage.of(session).analysed :]


def jaccard(one: Set[str], other: Set[str]) -> float:
    """Share of the words of either that both have; 0 when neither has any."""
    return len(one & other) / max(1, len(one | other))
