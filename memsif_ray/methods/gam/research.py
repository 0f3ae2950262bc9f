"""GAM's researcher: plan, search, integrate, reflect, until the findings suffice (GAM, section 3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.evidence import dated_line
from memsif_ray.memory.lexical import LexicalIndex, lexical_terms
from memsif_ray.methods.asking import reply_or_reason
from memsif_ray.methods.base import Tools
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.room import room, shortened
from memsif_ray.methods.sources import closest, dated, numbered, texts
from memsif_ray.text import is_blank
from memsif_ray.types import Decision, Message, Note, Question

_KEYWORDS, _QUERIES, _REQUESTS = 8, 4, 3
_SOURCES = 3
"""Messages that one finding names."""
_EXCERPTS = 12
"""Messages that stand in for findings, as many as findings may be."""
_SHORT_REPLY = 512
"""Tokens of a plan or a reflection; their schemas allow no more."""


@dataclass(frozen=True, slots=True)
class SearchLimits:
    """How far one question's research goes; see `gam.Settings`. `window` is the model's, in tokens."""

    rounds: int
    keyword_top_k: int
    vector_top_k: int
    direct_pages: int
    temperature: float
    research_tokens: int
    window: int


@dataclass(frozen=True, slots=True)
class Page:
    """One session: its note, its entry in the index of abstracts, and its messages."""

    note: Note
    indexed: str
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Finding:
    """One statement of the integrated result; `pages` are page numbers, from 1."""

    line: str
    pages: tuple[int, ...]
    message_ids: tuple[str, ...]
    timestamp: datetime


@dataclass(frozen=True, slots=True)
class Plan:
    """What one round looks for; a tool that was not chosen has an empty tuple."""

    keywords: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()
    pages: tuple[Page, ...] = ()


class Research:
    """One question's research.

    Attributes:
        found: Pages in the order in which they were first found.
        decisions: What was planned, integrated and reflected.
    """

    def __init__(
        self, question: Question, pages: Sequence[Page], *, book: NoteBook, tools: Tools, limits: SearchLimits
    ) -> None:
        """Know all pages, and have found none."""
        self.found: list[Page] = []
        self.decisions: list[Decision] = []
        self._question, self._pages, self._limits = question, pages, limits
        self._book, self._tools = book, tools
        self._lexical = LexicalIndex([lexical_terms(page.note.text) for page in pages])
        self._findings: tuple[Finding, ...] = ()

    async def run(self) -> tuple[Finding, ...]:
        """Research until a reflection is content or the rounds are used up; the most useful finding first.

        Raises:
            ServiceError: When the endpoint failed.
        """
        request = self._question.text
        for number in range(1, self._limits.rounds + 1):
            plan = await self._plan(request)
            pages = await self._search(plan)
            self.found.extend(page for page in pages if page not in self.found)
            if pages:
                await self._integrate(pages)
            if number == self._limits.rounds:
                break
            requests = await self._reflect()
            if not requests:
                break
            request = " ".join(requests)
        return self._findings

    async def _plan(self, request: str) -> Plan:
        reply = await self._ask(
            "plan",
            tokens=_SHORT_REPLY,
            abstracts=self._shown([page.indexed for page in self._pages], reply=_SHORT_REPLY),
            request=request,
        )
        if isinstance(reply, ReplyInvalid):
            self._note("plan", "keyword, vector", "fallback", str(reply))
            return Plan((request,), (request,))
        tools = texts(reply["tools"], at_most=len(reply["tools"]))
        plan = Plan(
            (texts(reply["keywords"], at_most=_KEYWORDS) or (request,)) if "keyword" in tools else (),
            (texts(reply["queries"], at_most=_QUERIES) or (request,)) if "vector" in tools else (),
            numbered(reply["pages"], self._pages)[: self._limits.direct_pages] if "page" in tools else (),
        )
        needs = "; ".join(texts(reply["needs"], at_most=len(reply["needs"])))
        self._note("plan", ", ".join(tools), "llm", needs)
        return plan

    async def _search(self, plan: Plan) -> list[Page]:
        """Pages found by any tool, each once: by keyword, then by vector, then by number."""
        found = [*self._by_keyword(plan.keywords), *await self._by_vector(plan.queries), *plan.pages]
        return list({page.note.note_id: page for page in found}.values())

    async def _by_vector(self, queries: tuple[str, ...]) -> list[Page]:
        """Pages nearest to all queries together: the mean vector ranks them by their sums of cosines."""
        if not queries:
            return []
        together = (await self._tools.embedder.embed(queries)).mean(axis=0)
        by_note = {page.note: page for page in self._pages}
        nearest = self._book.nearest(together, by_note, k=self._limits.vector_top_k)
        return [by_note[note] for note, _ in nearest]

    def _by_keyword(self, keywords: tuple[str, ...]) -> list[Page]:
        scores = self._lexical.scores(lexical_terms(" ".join(keywords)))
        best = sorted(range(len(self._pages)), key=lambda i: -scores[i])[: self._limits.keyword_top_k]
        return [self._pages[i] for i in best if scores[i] > 0]

    async def _integrate(self, pages: list[Page]) -> None:
        shown = [f"[{self._pages.index(page) + 1}] {page.note.text}" for page in pages]
        reply = await self._ask(
            "integrate",
            tokens=self._limits.research_tokens,
            findings=[f"{found.line} (pages {_listed(found.pages)})" for found in self._findings],
            pages=self._shown(shown, reply=self._limits.research_tokens),
            question=self._question.text,
        )
        if isinstance(reply, ReplyInvalid):
            self._findings = self._findings or self._excerpts(pages)
            self._note("integrate", "kept", "fallback", str(reply))
            return
        findings = [self._finding(item, pages) for item in reply["findings"]]
        # A reply without findings says that the pages do not help, not that earlier ones were wrong.
        self._findings = tuple(found for found in findings if found) or self._findings
        self._note("integrate", f"{len(self._findings)} findings", "llm", f"{len(pages)} pages")

    def _finding(self, item: Any, pages: list[Page]) -> Finding | None:
        fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
        statement = fields.get("statement")
        if not isinstance(statement, str) or is_blank(statement):
            return None
        # Only what was opened can be cited; a finding that cites nothing rests on what was just read.
        cited = [page for page in numbered(fields.get("pages"), self._pages) if page in self.found] or pages
        sources = closest(statement, [m for page in cited for m in page.messages], k=_SOURCES)
        when = max(m.timestamp for m in sources or cited[0].messages)
        numbers = tuple(self._pages.index(page) + 1 for page in cited)
        return Finding(dated(statement, when), numbers, tuple(m.message_id for m in sources), when)

    def _excerpts(self, pages: list[Page]) -> tuple[Finding, ...]:
        number_of = {m.message_id: self._pages.index(page) + 1 for page in pages for m in page.messages}
        best = closest(self._question.text, [m for page in pages for m in page.messages], k=_EXCERPTS)
        return tuple(
            Finding(dated_line(m), (number_of[m.message_id],), (m.message_id,), m.timestamp) for m in best
        )

    async def _reflect(self) -> tuple[str, ...]:
        """What is to be looked for next; nothing when the findings suffice."""
        lines = [found.line for found in self._findings]
        reply = await self._ask(
            "reflect",
            tokens=_SHORT_REPLY,
            findings=self._shown(lines, reply=_SHORT_REPLY),
            question=self._question.text,
        )
        if isinstance(reply, ReplyInvalid):
            self._note("reflect", "stop", "fallback", str(reply))
            return ()
        requests = () if reply["enough"] else texts(reply["requests"], at_most=_REQUESTS)
        self._note("reflect", "go on" if requests else "enough", "llm", "; ".join(requests))
        return requests

    async def _ask(self, name: str, *, tokens: int, **values: Any) -> Any:
        return await reply_or_reason(
            self._tools,
            f"gam/{name}",
            max_tokens=tokens,
            temperature=self._limits.temperature,
            question_id=self._question.question_id,
            **values,
        )

    def _shown(self, lines: list[str], *, reply: int) -> list[str]:
        return shortened(lines, budget=room(self._limits.window, reply=reply), tokens=self._tools.tokens)

    def _note(self, kind: str, outcome: str, decided_by: str, detail: str) -> None:
        self.decisions.append(Decision(kind, self._question.question_id, outcome, decided_by, detail=detail))


def _listed(numbers: tuple[int, ...]) -> str:
    return ", ".join(map(str, numbers))
