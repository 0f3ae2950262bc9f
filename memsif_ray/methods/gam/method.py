"""Compact re-implementation of GAM: an index of session abstracts, researched anew for every question.

Paper:
    Yan et al., General Agentic Memory Via Deep Research, 2025 (arXiv 2511.18423).
Official code:
    github.com/VectorSpaceLab/general-agentic-memory, MIT; two forks of it were read. The package `gam` on
    PyPI is something else.
Deviations:
    - Answers come from the shared answer prompt; the official script's own prompt for one LoCoMo category
      is left out, because no other system has one.
    - The integrated result is a list of findings, each dated and with the pages it cites, instead of free
      text.
    - Each finding also names up to three messages of its pages, those it shares most words with, because
      pages alone would credit it with whole sessions of evidence.
    - The context takes findings in the order given, most useful first, while they fit the run's budget.
    - Sufficiency and follow-up requests are one call instead of two, and nothing is reflected on after the
      last round, because no search could follow.
    - Keyword search joins all keywords into one BM25 query over stems; a chosen search without words of its
      own uses the request.
    - Abstracts, pages or findings that together exceed the model's window are cut, all at the same length.
    - A session whose abstract is unusable is indexed by its first lines; an unusable plan searches by
      keyword and vector with the request itself; after an unusable integration without earlier findings the
      round's best messages are the findings.
    - Dense search ranks pages by all queries of a plan together, as the official code does, where its paper
      reads as if each query found pages of its own.
    - Dense search embeds abstract and page together with the run's embedder instead of bge-m3.
"""

from __future__ import annotations

import json
from itertools import groupby

from pydantic import Field

from memsif_ray.config import RunConfig, Strict
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.dates import spoken
from memsif_ray.memory.evidence import dated_line
from memsif_ray.methods.asking import reply_or_reason
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.gam.research import Page, Research, SearchLimits
from memsif_ray.methods.lines import chronological, pack
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.room import room, shortened
from memsif_ray.methods.sources import ranked_ids
from memsif_ray.text import is_blank, truncate
from memsif_ray.types import Context, ContextItem, Conversation, Decision, Message, Note, Question

_EXCERPT = 400
"""Characters of a session that stand in for its abstract."""


class Settings(Strict):
    """GAM's settings; defaults are the official code's."""

    rounds: int = Field(3, ge=1, description="Most rounds of plan, search, integrate and reflect")
    keyword_top_k: int = Field(5, ge=1)
    vector_top_k: int = Field(5, ge=1, description="Pages by dense search, for all its queries together")
    direct_pages: int = Field(5, ge=1, description="Most pages opened by number")
    temperature: float = Field(0.3, ge=0)
    abstract_tokens: int = Field(256, ge=1)
    research_tokens: int = Field(2048, ge=1)


class Gam:
    """Pages under an index of abstracts, and a researcher who reads them."""

    name = "gam"

    def __init__(self, config: RunConfig, tools: Tools) -> None:
        """Nothing is known until `ingest` or `load`."""
        self._settings = settings_of(config, self.name, Settings)
        self._budget = config.memory.retrieval.context_tokens
        self._window = config.model.context_window
        self._tools = tools
        self._book = NoteBook(tools.embedder)
        self._decisions: list[Decision] = []
        self._pages: list[Page] = []

    async def ingest(self, conversation: Conversation) -> None:
        """Write one abstract per session, each seeing all earlier ones."""
        notes: list[Note] = []
        abstracts: list[str] = []
        for number, messages in enumerate(_sessions(conversation), start=1):
            abstract = await self._abstract(number, messages, abstracts)
            abstracts.append(_indexed(number, messages[0], abstract))
            notes.append(_page_note(number, messages, abstract))
        await self._book.write(notes)
        self._open(conversation)

    def dump(self) -> Tables:
        """The pages with their abstracts, and what was decided."""
        return {"notes": self._book.log, "decisions": self._decisions}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restore the pages; only embeddings are made again."""
        self._decisions = list(tables.get("decisions", ()))
        await self._book.restore(tables.get("notes", ()))
        self._open(conversation)

    async def context(self, question: Question) -> Context:
        """The findings of the research that fit the budget, in order of time."""
        if not self._pages or is_blank(question.text):
            return Context(())
        limits = SearchLimits(**self._settings.model_dump(exclude={"abstract_tokens"}), window=self._window)
        research = Research(question, self._pages, book=self._book, tools=self._tools, limits=limits)
        findings = await research.run()
        items = [
            ContextItem(
                f"finding_{n}", "finding", found.line, found.message_ids, found.timestamp, 1 - n / 100
            )
            for n, found in enumerate(findings)
        ]
        seen = tuple(m.message_id for page in research.found for m in page.messages)
        return Context(
            chronological(pack(items, self._budget, self._tools.tokens)),
            retrieved_ids=tuple(dict.fromkeys((*ranked_ids(items), *seen))),
            decisions=tuple(research.decisions),
        )

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""

    async def _abstract(self, number: int, messages: list[Message], earlier: list[str]) -> str:
        limit, tokens = self._settings.abstract_tokens, self._tools.tokens
        half = room(self._window, reply=limit) // 2
        text = await reply_or_reason(
            self._tools,
            "gam/abstract",
            max_tokens=limit,
            temperature=self._settings.temperature,
            abstracts=shortened(earlier, budget=half, tokens=tokens),
            date=spoken(messages[0].timestamp),
            lines=shortened([dated_line(m) for m in messages], budget=half, tokens=tokens),
        )
        if isinstance(text, ReplyInvalid):
            self._decisions.append(
                Decision("abstract", _page_id(number), "excerpt", "fallback", detail=str(text))
            )
            return truncate(" ".join(f"{m.speaker}: {m.content}" for m in messages), _EXCERPT)
        self._decisions.append(Decision("abstract", _page_id(number), "written", "llm"))
        return str(text)

    def _open(self, conversation: Conversation) -> None:
        sessions = _sessions(conversation)
        self._pages = [
            Page(note, _indexed(number, messages[0], json.loads(note.detail)["abstract"]), tuple(messages))
            for number, (note, messages) in enumerate(zip(self._book, sessions, strict=True), start=1)
        ]


def _sessions(conversation: Conversation) -> list[list[Message]]:
    spoken_ones = [m for m in conversation.messages if not is_blank(m.content)]
    return [list(messages) for _, messages in groupby(spoken_ones, key=lambda m: m.session)]


def _page_id(number: int) -> str:
    return f"page_{number:04d}"


def _indexed(number: int, first: Message, abstract: str) -> str:
    return f"[{number}] {spoken(first.timestamp)}: {abstract}"


def _page_note(number: int, messages: list[Message], abstract: str) -> Note:
    return Note(
        _page_id(number),
        "page",
        "\n".join([abstract, *map(dated_line, messages)]),
        message_ids=tuple(m.message_id for m in messages),
        timestamp=messages[0].timestamp,
        detail=json.dumps({"abstract": abstract}, ensure_ascii=False),
    )
