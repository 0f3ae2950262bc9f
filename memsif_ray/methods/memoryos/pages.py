"""Pages of MemoryOS: exchanges of a conversation, chained and split into topics by a model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.methods.asking import ask_with, reply_or_reason
from memsif_ray.methods.base import Tools
from memsif_ray.methods.together import together
from memsif_ray.text import is_blank
from memsif_ray.types import Conversation, Decision, Message, Note

TOPICS, KEYWORDS = 2, 10
"""Most topics of a page, and most keywords of a topic."""


@dataclass(frozen=True, slots=True)
class Page:
    """One exchange: what the user side said and what was answered.

    Attributes:
        note: The page as it stands in memory; of kind `recent` while it is in the short-term queue.
        messages: At least one, all of one session.
    """

    note: Note
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """What a page is about. Keywords are case-folded."""

    summary: str
    keywords: frozenset[str]


@dataclass(frozen=True, slots=True)
class Reading:
    """What the model says of a page that leaves the short-term queue.

    Attributes:
        page: The page.
        chain: Ids of the pages of its chain, in order, up to and with this page.
        summary: Of its chain up to and with this page; "" when there is none.
        topics: At least one.
        decisions: What was decided, and what fell back.
    """

    page: Page
    chain: tuple[str, ...]
    summary: str
    topics: tuple[Topic, ...]
    decisions: tuple[Decision, ...]


def sides_of(conversation: Conversation) -> tuple[frozenset[str], str, str]:
    """Who is the user side, its name, and the name of the other side.

    With an assistant the user side is whoever has the role `user`; between people it is the first speaker,
    and all others together are the other side. A side that nobody is on has a generic name.
    """
    roles = {message.speaker: message.role for message in conversation.messages}
    speakers = tuple(dict.fromkeys((*conversation.speakers, *roles)))
    if "assistant" in roles.values():
        users = [speaker for speaker in speakers if roles.get(speaker) == "user"]
    else:
        users = list(speakers[:1])
    others = [speaker for speaker in speakers if speaker not in users]
    return frozenset(users), " and ".join(users) or "user", " and ".join(others) or "assistant"


def pages_of(conversation: Conversation) -> list[Page]:
    """The exchanges, in order: each message of the user side opens one, and so does each session."""
    users, _, _ = sides_of(conversation)
    exchanges: list[list[Message]] = []
    for message in conversation.messages:
        if is_blank(message.content):
            continue
        if message.speaker in users or not exchanges or exchanges[-1][-1].session != message.session:
            exchanges.append([])
        exchanges[-1].append(message)
    return [_page(number, tuple(messages)) for number, messages in enumerate(exchanges)]


def _page(number: int, messages: tuple[Message, ...]) -> Page:
    note = Note(
        note_id=f"page_{number:04}",
        kind="recent",
        text="\n".join(f"{message.speaker}: {message.content}" for message in messages),
        message_ids=tuple(message.message_id for message in messages),
        timestamp=messages[0].timestamp,
    )
    return Page(note, messages)


async def read_pages(pages: Sequence[Page], tools: Tools) -> list[Reading]:
    """Ask about every page, all pages at once; only the summaries of one chain wait for each other.

    None of it depends on memory, so it is asked before the first page is filed.

    Raises:
        ServiceError: When the endpoint failed.
    """
    reader = _Reader(tools)
    continues = await together(map(reader.continues, (None, *pages[:-1]), pages))
    topics = await together(map(reader.topics, pages))
    chains = _chains(pages, [goes_on for goes_on, _ in continues])
    summaries = [said for chain in await together(map(reader.summaries, chains)) for said in chain]
    paths = [
        tuple(p.note.note_id for p in chain[:end]) for chain in chains for end in range(1, len(chain) + 1)
    ]
    return [
        Reading(page, path, summary, about, (linked, *lost, *unread))
        for page, path, (_, linked), (summary, lost), (about, unread) in zip(
            pages, paths, continues, summaries, topics, strict=True
        )
    ]


def _chains(pages: Sequence[Page], goes_on: Sequence[bool]) -> list[list[Page]]:
    chains: list[list[Page]] = []
    for page, joins in zip(pages, goes_on, strict=True):
        if not joins:
            chains.append([])
        chains[-1].append(page)
    return chains


class _Reader:
    """One question about a page per method; what cannot be read falls back and is a decision."""

    def __init__(self, tools: Tools) -> None:
        self._tools = tools

    async def continues(self, before: Page | None, page: Page) -> tuple[bool, Decision]:
        """Whether `page` goes on with the page before it; a page opens a chain when nobody can say."""
        if before is None:
            return False, Decision("chain", page.note.note_id, "new", "rule")
        reply = await reply_or_reason(
            self._tools,
            "memoryos/continuity",
            max_tokens=30,
            before=before.messages,
            messages=page.messages,
        )
        if isinstance(reply, ReplyInvalid):
            return False, Decision("chain", page.note.note_id, "new", "fallback", detail=str(reply))
        goes_on = bool(reply["continues"])
        return goes_on, Decision("chain", page.note.note_id, "continue" if goes_on else "new", "llm")

    async def summaries(self, chain: Sequence[Page]) -> list[tuple[str, tuple[Decision, ...]]]:
        """The chain's summary after each of its pages; an unusable one leaves that of the page before."""
        said: list[tuple[str, tuple[Decision, ...]]] = []
        summary = ""
        for page in chain:
            lost: tuple[Decision, ...] = ()
            try:
                reply = await ask_with(
                    self._tools, "memoryos/chain", max_tokens=300, summary=summary, messages=page.messages
                )
                summary = " ".join(reply["summary"].split()) or summary
            except ReplyInvalid as exc:
                lost = (Decision("summary", page.note.note_id, "kept", "fallback", detail=str(exc)),)
            said.append((summary, lost))
        return said

    async def topics(self, page: Page) -> tuple[tuple[Topic, ...], tuple[Decision, ...]]:
        """What the page is about; its own text, without keywords, when nobody can say."""
        reason = "no topic"
        try:
            reply = await ask_with(
                self._tools, "memoryos/topics", max_tokens=500, messages=page.messages, limit=TOPICS
            )
            found = tuple(topic for item in reply["topics"] if (topic := _topic(item)))
            if found:
                return found[:TOPICS], ()
        except ReplyInvalid as exc:
            reason = str(exc)
        own = Topic(page.note.text, frozenset())
        return (own,), (Decision("topics", page.note.note_id, "own text", "fallback", detail=reason),)


def _topic(item: Any) -> Topic | None:
    fields = item if isinstance(item, dict) else {}
    summary, keywords = fields.get("summary"), fields.get("keywords")
    if not isinstance(summary, str) or is_blank(summary):
        return None
    words = [word for word in keywords if isinstance(word, str)] if isinstance(keywords, list) else []
    folded = (" ".join(word.casefold().split()) for word in words[:KEYWORDS])
    return Topic(" ".join(summary.split()), frozenset(filter(None, folded)))
