"""The nodes of MemGAS: each session as a whole, as the mean of its turns, as a summary, as keywords."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.dates import spoken
from memsif_ray.methods.asking import reply_or_reason
from memsif_ray.methods.base import Tools
from memsif_ray.methods.room import room, shortened
from memsif_ray.methods.sources import texts
from memsif_ray.methods.together import together
from memsif_ray.text import is_blank
from memsif_ray.types import Conversation, Decision, Message, Note

GRANULARITIES = ("session", "turns", "summary", "keywords")
_REPLY_TOKENS = 500
_KEYWORDS = 15


@dataclass(frozen=True, slots=True)
class Session:
    """The messages of one session that say something; `start` is the first one's row among all of them."""

    session_id: str
    start: int
    messages: tuple[Message, ...]

    @property
    def rows(self) -> slice:
        """Of its messages in the matrix of all turns."""
        return slice(self.start, self.start + len(self.messages))

    def node_id(self, granularity: str) -> str:
        """Id of one of its nodes, e.g. `s0003/summary`."""
        return f"{self.session_id}/{granularity}"


def sessions_of(conversation: Conversation) -> list[Session]:
    """The sessions in order; blank messages, and sessions of nothing else, are left out."""
    spoken_messages = [m for m in conversation.messages if not is_blank(m.content)]
    found: list[Session] = []
    start = 0
    for number, group in groupby(spoken_messages, key=lambda m: m.session):
        found.append(Session(f"s{number:04}", start, tuple(group)))
        start += len(found[-1].messages)
    return found


async def describe(session: Session, *, tools: Tools, window: int) -> tuple[list[Note], list[Decision]]:
    """The nodes of a session; one whose text could not be had is missing, and a decision says why.

    The node of turns has no text: its vector is the mean of theirs.

    Args:
        session: What to describe.
        tools: Ask two models' calls side by side, one for the summary, one for the keywords.
        window: The model's context window; a session that does not fit is shortened.

    Raises:
        ServiceError: When the endpoint failed.
    """
    lines = [f"{m.speaker}: {m.content}" for m in session.messages]
    shown = shortened(lines, budget=room(window, reply=_REPLY_TOKENS), tokens=tools.tokens)
    (summary, no_summary), (keywords, no_keywords) = await together(
        _read(session, granularity, shown, tools) for granularity in ("summary", "keywords")
    )
    said = {"session": "\n".join(lines), "turns": "", "summary": summary, "keywords": keywords}
    ids = tuple(m.message_id for m in session.messages)
    notes = [
        Note(session.node_id(granularity), granularity, text, ids, session.messages[0].timestamp)
        for granularity, text in said.items()
        if text or granularity == "turns"
    ]
    return notes, no_summary + no_keywords


async def _read(
    session: Session, granularity: str, lines: Sequence[str], tools: Tools
) -> tuple[str, list[Decision]]:
    reply = await reply_or_reason(
        tools,
        f"memgas/{granularity}",
        max_tokens=_REPLY_TOKENS,
        date=spoken(session.messages[0].timestamp),
        lines=lines,
    )
    if isinstance(reply, ReplyInvalid):
        return "", [_missing(session, granularity, str(reply))]
    words = texts([reply] if isinstance(reply, str) else reply["keywords"], at_most=_KEYWORDS)
    return ", ".join(words), [] if words else [_missing(session, granularity, "no words")]


def _missing(session: Session, granularity: str, reason: str) -> Decision:
    return Decision(granularity, session.node_id(granularity), "no node", "fallback", detail=reason)
