"""MemoryOS's long-term memory: a profile of the user side, and knowledge about both sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.methods.asking import reply_or_reason
from memsif_ray.methods.base import Tools
from memsif_ray.methods.memoryos.pages import Page
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.together import together
from memsif_ray.text import is_blank, words
from memsif_ray.types import Decision, Note

PROFILE, USER, OTHER = "profile", "user_knowledge", "other_knowledge"
"""The kinds of note of this memory; the profile is one note with versions."""


class LongTerm:
    """What was learned of either side, in a notebook."""

    def __init__(self, book: NoteBook, tools: Tools, *, user: str, other: str, capacity: int) -> None:
        """Work on `book`.

        Args:
            book: Where the notes are.
            tools: Chat model.
            user: Name of the user side.
            other: Name of the other side.
            capacity: Most pieces of knowledge per side; the oldest leave first.
        """
        self._book, self._tools, self._capacity = book, tools, capacity
        self._names = {"user": user, "other": other}

    async def analyse(self, pages: Sequence[Page], *, question_id: str = "") -> list[Decision]:
        """Rewrite the profile and collect knowledge from pages, by two calls at once.

        Args:
            pages: At least one.
            question_id: Whose visit made the pages hot; "" while memory is built.

        Returns:
            A decision for each call whose reply was unusable: what it would have taught is lost.

        Raises:
            ServiceError: When the endpoint or the embedder failed.
        """
        before = self._book.of_kind(PROFILE)
        profile, knowledge = await together(
            [
                self._ask(
                    PROFILE,
                    pages,
                    question_id,
                    profile=before[0].text if before else "",
                    user=self._names["user"],
                ),
                self._ask("knowledge", pages, question_id, **self._names),
            ]
        )
        lost = []
        if isinstance(profile, ReplyInvalid):
            lost.append(_lost(PROFILE, pages, profile))
        elif not is_blank(profile["profile"]):
            await self._book.write([_profile(profile["profile"], pages)])
        if isinstance(knowledge, ReplyInvalid):
            lost.append(_lost("knowledge", pages, knowledge))
        else:
            await self._keep(USER, knowledge["user"], pages)
            await self._keep(OTHER, knowledge["other"], pages)
        return lost

    async def _ask(self, prompt: str, pages: Sequence[Page], question_id: str, **values: Any) -> Any:
        return await reply_or_reason(
            self._tools,
            f"memoryos/{prompt}",
            max_tokens=1200,
            question_id=question_id,
            pages=[page.messages for page in pages],
            **values,
        )

    async def _keep(self, kind: str, items: Sequence[Any], pages: Sequence[Page]) -> None:
        """Append knowledge; beyond the capacity the oldest goes."""
        number = len({note.note_id for note in self._book.log if note.kind == kind})
        found = [known for item in items if (known := _known(item, pages))]
        await self._book.write(
            [
                Note(f"{kind}_{number + n:04}", kind, text, page.note.message_ids, page.note.timestamp)
                for n, (text, page) in enumerate(found)
            ]
        )
        for note in self._book.of_kind(kind)[: -self._capacity]:
            self._book.delete(note.note_id)


def _profile(text: str, pages: Sequence[Page]) -> Note:
    """A version of the profile; it names the messages that this version was rewritten from."""
    ids = tuple(message_id for page in pages for message_id in page.note.message_ids)
    return Note(PROFILE, PROFILE, " ".join(text.split()), ids, pages[-1].note.timestamp)


def _known(item: Any, pages: Sequence[Page]) -> tuple[str, Page] | None:
    """A piece of knowledge and its page: the one cited, else the one that shares most words with it."""
    fields = item if isinstance(item, dict) else {}
    text, number = fields.get("text"), fields.get("page")
    if not isinstance(text, str) or is_blank(text):
        return None
    said = " ".join(text.split())
    if type(number) is int and 1 <= number <= len(pages):
        return said, pages[number - 1]
    wanted = set(words(said))
    return said, max(pages, key=lambda page: len(wanted & set(words(page.note.text))))


def _lost(kind: str, pages: Sequence[Page], why: ReplyInvalid) -> Decision:
    return Decision(kind, pages[0].note.note_id, "skipped", "fallback", detail=str(why))
