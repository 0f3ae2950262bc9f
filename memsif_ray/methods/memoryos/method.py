"""MemoryOS: exchanges move from a short queue to topic sessions, and hot sessions into a profile.

Paper:
    Kang et al. 2025, "Memory OS of AI Agent", arXiv 2506.06326, EMNLP 2025.

Official code:
    github.com/BAI-LAB/MemoryOS, Apache-2.0; the packages `memoryos-pro` and `memoryos-mcp` hold it.

Deviations:
    - Compact re-implementation from the published description, with prompts in our own words.
    - The user side is whoever has the role `user`, or between people the first speaker; all others together
      are the other side, so a lone speaker's messages are a page each.
    - Several answers in a row stay in one page, where the official LoCoMo script keeps the last.
    - Prompts cut a message at 1,000 to 2,000 characters, and a page has at most two topics.
    - The short-term queue holds 7 pages as in the paper; the code has 10 and its LoCoMo script 1.
    - Time is that of the conversation and the questions, never the clock, in recency and in heat.
    - Of each chain one note keeps the summary; a page points back to the page before it only.
    - A session's heat is computed afresh when asked for, where the code may compare stale values.
    - Sessions whose pages have all been analysed are not analysed again, and do not block the next hottest.
    - An unusable list of topics files the page under its own text instead of a fixed phrase.
    - A question visits its sessions after it was answered, and a session made hot by it is analysed then;
      the evaluation script never analyses again once the history has been read.
    - Lines compete for the context's token budget by cosine to the question, the profile first.
    - The profile and chain summaries cite no messages in a context, as they rest on too many to say which.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from pydantic import Field

from memsif_ray.config import RunConfig, Strict
from memsif_ray.memory.reading import message_item
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.lines import chronological, pack
from memsif_ray.methods.memoryos.pages import Page, Reading, pages_of, read_pages, sides_of
from memsif_ray.methods.memoryos.profile import OTHER, PROFILE, USER, LongTerm
from memsif_ray.methods.memoryos.sessions import KIND as SESSION
from memsif_ray.methods.memoryos.sessions import MidTerm, unread
from memsif_ray.methods.note_lines import message_ids_of, note_item
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.text import is_blank
from memsif_ray.types import Context, ContextItem, Conversation, Decision, Note, Question, Vector


class Settings(Strict):
    """The paper's constants; where it has none, the official code's."""

    short_term: int = Field(7, ge=1, description="Pages in the short-term queue")
    same_topic: float = Field(0.6, description="Cosine + Jaccard at or above it: a page joins a session")
    sessions: int = Field(2000, ge=1, description="Most sessions in mid-term memory")
    hot: float = Field(5.0, description="Heat at or above it: a session is analysed")
    knowledge: int = Field(100, ge=1, description="Most pieces of knowledge per side")
    top_sessions: int = Field(5, ge=1, description="Sessions searched for a question")
    top_pages: int = Field(7, ge=1, description="Pages retrieved from them")
    least_cosine: float = Field(0.1, description="A session or page below it is not retrieved")
    top_knowledge: int = Field(20, ge=1, description="Pieces of knowledge retrieved per side")
    least_knowledge: float = Field(0.01, description="Knowledge with a cosine below it is not retrieved")


class MemoryOS:
    """Short-term, mid-term and long-term memory in one notebook."""

    name = "memoryos"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Nothing is known until `ingest` or `load`."""
        self._settings = settings_of(config, self.name, Settings)
        self._budget, self._tools = config.memory.retrieval.context_tokens, tools
        self._decisions: list[Decision] = []
        self._open(Conversation("", "", (), ()))

    async def ingest(self, conversation: Conversation) -> None:
        """Queue every page; file those that overflow, oldest first, each as the next one arrives."""
        self._open(conversation)
        pages = list(self._pages.values())
        await self._book.write([page.note for page in pages])
        arriving = pages[self._settings.short_term :]
        readings = await read_pages(pages[: len(arriving)], self._tools)
        for reading, arrival in zip(readings, arriving, strict=True):
            now = arrival.messages[0].timestamp
            await self._file(reading, now)
            await self._analyse_hottest(now)

    def dump(self) -> Tables:
        """Every version of every page, chain, session and long-term note, and what was decided."""
        return {"notes": list(self._book.log), "decisions": list(self._decisions)}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restore the notebook from its log."""
        self._open(conversation)
        await self._book.restore(tables["notes"])
        self._decisions = list(tables["decisions"])

    async def context(self, question: Question) -> Context:
        """Profile, pages of the best sessions with their chains, the short-term queue, and knowledge."""
        if is_blank(question.text) or not self._pages:
            return Context(())
        query = (await self._tools.embedder.embed([question.text]))[0]
        pages = self._retrieved(query)
        recent = self._book.of_kind("recent")
        items = [
            *(
                note_item(note, self._profile_of, score=1, cites=False)
                for note in self._book.of_kind(PROFILE)
            ),
            *self._lines(pages),
            *self._chain_items(pages),
            *self._lines(self._book.nearest(query, recent, k=len(recent))),
            *self._knowledge_items(query),
        ]
        best_first = sorted(items, key=lambda item: -item.score)
        kept = pack(best_first, self._budget, self._tools.tokens)
        return Context(chronological(kept), retrieved_ids=message_ids_of(note for note, _ in pages))

    async def learn(self, question: Question, context: Context) -> None:
        """Count a visit for the sessions of the retrieved pages, and analyse the one that it made hot."""
        if not self._pages:
            return
        found = set(context.retrieved_ids)
        visited = [page.note.note_id for page in self._pages.values() if found & set(page.note.message_ids)]
        now = question.asked_at or list(self._pages.values())[-1].messages[-1].timestamp
        await self._mid.visit(visited, now)
        await self._analyse_hottest(now, question.question_id)

    def _open(self, conversation: Conversation) -> None:
        """An empty memory of a conversation."""
        settings = self._settings
        _, self._user, self._other = sides_of(conversation)
        self._profile_of = f"Profile of {self._user}"
        self._pages: dict[str, Page] = {page.note.note_id: page for page in pages_of(conversation)}
        self._book = NoteBook(self._tools.embedder)
        self._mid = MidTerm(self._book, capacity=settings.sessions, threshold=settings.same_topic)
        self._long = LongTerm(
            self._book, self._tools, user=self._user, other=self._other, capacity=settings.knowledge
        )

    async def _file(self, reading: Reading, now: datetime) -> None:
        """Move a page from the queue into its chain and into a session per topic."""
        page, chain = reading.page.note, reading.chain
        await self._book.write(
            [
                replace(page, kind="page", links=chain[-2:-1]),
                Note(f"chain_{chain[0]}", "chain", reading.summary, (), page.timestamp, chain),
            ]
        )
        self._decisions.extend(reading.decisions)
        vectors = await self._tools.embedder.embed([topic.summary for topic in reading.topics])
        for topic, vector in zip(reading.topics, vectors, strict=True):
            session, score = await self._mid.insert(page.note_id, topic, vector, now)
            self._decisions.append(Decision("session", page.note_id, session, "threshold", score))

    async def _analyse_hottest(self, now: datetime, question_id: str = "") -> None:
        hottest = self._mid.hottest(now)
        if hottest is None or hottest[1] < self._settings.hot:
            return
        session, heat = hottest
        pages = [self._pages[page_id] for page_id in unread(session)]
        self._decisions.append(Decision("analysis", session.note_id, "hot", "threshold", heat))
        self._decisions.extend(await self._long.analyse(pages, question_id=question_id))
        await self._mid.cool(session, now)

    def _retrieved(self, query: Vector) -> list[tuple[Note, float]]:
        """The best pages of the best sessions, best first."""
        settings, book = self._settings, self._book
        sessions = book.nearest(
            query, book.of_kind(SESSION), k=settings.top_sessions, at_least=settings.least_cosine
        )
        members = {page_id: book[page_id] for session, _ in sessions for page_id in session.links}
        return book.nearest(
            query, list(members.values()), k=settings.top_pages, at_least=settings.least_cosine
        )

    def _lines(self, pages: Sequence[tuple[Note, float]]) -> Iterator[ContextItem]:
        """A line per message of each page, with the page's score."""
        for note, score in pages:
            for message in self._pages[note.note_id].messages:
                yield replace(message_item(message, score), kind=note.kind)

    def _chain_items(self, pages: Sequence[tuple[Note, float]]) -> Iterator[ContextItem]:
        """The summary of each chain that a page is of, once, with the score of its best page."""
        for chain in self._book.of_kind("chain"):
            scores = [score for note, score in pages if note.note_id in chain.links]
            if scores and not is_blank(chain.text):
                yield note_item(chain, "Summary", score=max(scores), cites=False)

    def _knowledge_items(self, query: Vector) -> Iterator[ContextItem]:
        settings = self._settings
        for kind, who in ((USER, self._user), (OTHER, self._other)):
            known = self._book.of_kind(kind)
            for note, score in self._book.nearest(
                query, known, k=settings.top_knowledge, at_least=settings.least_knowledge
            ):
                yield note_item(note, who, score=score)
