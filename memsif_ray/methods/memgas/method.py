"""MemGAS: a graph of sessions at four granularities, routed by entropy, spread by personalised PageRank.

Paper:
    Xu et al. 2025, From Single to Multi-Granularity: Toward Long-Term Memory Association and Selection of
    Conversational Agents, arXiv 2505.19549.

Official code:
    github.com/quqxui/MemGAS, no licence file; read for its constants and its order of steps, nothing copied.

Variants:
    - memgas:normalised: MemGAS with each granularity's entropy divided by ln n, as its paper intends.

Deviations:
    - Compact re-implementation with prompts in our own words.
    - `memgas` routes as coded: entropies are not normalised, so when all exceed 1 nat the least certain
      granularity weighs most.
    - The softmax temperature is 0.2, as in the official README; its argument parser has 0.1.
    - Where fewer distinct similarities exist than mixture components, all candidates are joined.
    - When no node has a positive score nothing can be spread, and sessions rank by the sum of their scores.
    - A session whose summary or keywords could not be read lacks that node.
    - The filter names the lines to keep by number instead of copying them, so nothing is paraphrased and
      every line keeps its source.
    - An unreadable reply of the filter leaves the sessions unfiltered.
    - What exceeds the budget is cut by cosine to the question; the official context has no budget.
    - Message ids rank by session, and within a session by their cosine to the question.
    - Session vectors and turn vectors are unit vectors of the run's embedder; the mean of turns is not scaled
      to unit length, as in the official code, where the embedder is Contriever.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Literal

import numpy as np
from pydantic import Field

from memsif_ray.config import RunConfig, Strict
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.reading import message_item
from memsif_ray.methods.asking import ask_with
from memsif_ray.methods.base import Tables, Tools, settings_of
from memsif_ray.methods.lines import chronological, pack
from memsif_ray.methods.memgas.graph import Floats, edges_between, granularity_weights, pagerank, seeds
from memsif_ray.methods.memgas.nodes import GRANULARITIES, Session, describe, sessions_of
from memsif_ray.methods.note_lines import note_item
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.room import room
from memsif_ray.methods.sources import numbered
from memsif_ray.methods.together import together
from memsif_ray.text import is_blank
from memsif_ray.types import (
    Context,
    ContextItem,
    Conversation,
    Decision,
    Matrix,
    Note,
    Question,
    Vector,
)

FIRST_JOINED = 5
"""Sessions that come before any edge is drawn: the sixth is the first to look for earlier nodes."""
FILTER_TOKENS = 500
"""Of the filter's reply, which is a list of numbers."""


class Settings(Strict):
    """`baselines.memgas.*`, for both variants."""

    seed_nodes: int = Field(15, ge=1, description="Best nodes that PageRank restarts from")
    mem_threshold: int = Field(30, ge=2, description="Most similar earlier nodes that may get an edge")
    components: int = Field(2, ge=2, description="Of the Gaussian mixture")
    damping: float = Field(0.1, ge=0, lt=1, description="Probability of following an edge")
    temperature: float = Field(0.2, gt=0, description="Of the softmax behind the entropies")
    top_k: int = Field(3, ge=1, description="Sessions put to the filter")


class MemGAS:
    """Four nodes per session; a question is answered from the filtered text of the best sessions."""

    def __init__(
        self, config: RunConfig, tools: Tools, *, routing: Literal["code", "normalised"] = "code"
    ) -> None:
        """Nothing is known until `ingest` or `load`.

        Raises:
            ConfigError: When a setting of `baselines.memgas` is wrong.
        """
        self.name = "memgas" if routing == "code" else f"memgas:{routing}"
        self._settings = settings_of(config, "memgas", Settings)
        self._budget = config.memory.retrieval.context_tokens
        self._window = config.model.context_window
        self._routing, self._tools = routing, tools
        self._book = NoteBook(tools.embedder)
        self._decisions: list[Decision] = []
        self._sessions: list[Session] = []
        self._turns: Matrix = np.zeros((0, 0), np.float32)
        self._nodes: Matrix = np.zeros((0, len(GRANULARITIES), 0), np.float32)
        self._edges: list[tuple[int, int]] = []

    async def ingest(self, conversation: Conversation) -> None:
        """Describe every session, then join its nodes to earlier ones.

        Raises:
            ServiceError: When the endpoint or the embedder failed.
        """
        sessions = sessions_of(conversation)
        if not sessions:
            return
        described = await together(
            describe(session, tools=self._tools, window=self._window) for session in sessions
        )
        await self._book.write([note for notes, _ in described for note in notes])
        self._decisions += [decision for _, decisions in described for decision in decisions]
        await self._index(sessions)
        edges = edges_between(
            self._nodes,
            first=FIRST_JOINED,
            threshold=self._settings.mem_threshold,
            components=self._settings.components,
        )
        await self._book.write(self._linked(edges))
        self._edges = edges

    def dump(self) -> Tables:
        """The nodes with their edges (`links` to earlier nodes) and what could not be read."""
        return {"notes": self._book.log, "decisions": self._decisions}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restore the graph; vectors come from the embedding cache."""
        await self._book.restore(tables["notes"])
        self._decisions = list(tables["decisions"])
        await self._index(sessions_of(conversation))
        place = {session.node_id(kind): n for n, (session, kind) in enumerate(self._places())}
        self._edges = [(place[note.note_id], place[link]) for note in self._book for link in note.links]

    async def context(self, question: Question) -> Context:
        """The lines of the best sessions that pass the filter."""
        if not self._sessions or is_blank(question.text):
            return Context(())
        query = (await self._tools.embedder.embed([question.text]))[0]
        order, routed = self._rank(query, question)
        cosines = self._turns @ query
        offered = [item for n in order[: self._settings.top_k] for item in self._lines(n, query, cosines)]
        kept, filtered = await self._filter(offered, question)
        best_first = sorted(kept, key=lambda item: -item.score)
        items = chronological(pack(best_first, self._budget, self._tools.tokens))
        ranked = [message_id for n in order for message_id in _by_cosine(self._sessions[n], cosines)]
        return Context(items, retrieved_ids=tuple(ranked), decisions=(routed, filtered))

    async def learn(self, question: Question, context: Context) -> None:
        """Keeps nothing from questions."""

    async def _index(self, sessions: list[Session]) -> None:
        """Vectors of turns and nodes; NaN where a session has no such node."""
        self._sessions = sessions
        contents = [m.content for session in sessions for m in session.messages]
        if not contents:
            return
        self._turns = await self._tools.embedder.embed(contents)
        self._nodes = np.full((len(sessions), len(GRANULARITIES), self._turns.shape[1]), np.nan, np.float32)
        flat = self._nodes.reshape(-1, self._turns.shape[1])
        for n, (session, kind) in enumerate(self._places()):
            vector = (
                self._turns[session.rows].mean(axis=0)
                if kind == "turns"
                else self._book.vector(session.node_id(kind))
            )
            if vector is not None:
                flat[n] = vector

    def _places(self) -> list[tuple[Session, str]]:
        """Node number → its session and granularity."""
        return [(session, kind) for session in self._sessions for kind in GRANULARITIES]

    def _linked(self, edges: Sequence[tuple[int, int]]) -> list[Note]:
        """Later versions of the nodes that are joined to earlier ones."""
        ids = [session.node_id(kind) for session, kind in self._places()]
        by_node = groupby(edges, key=lambda edge: edge[0])
        return [
            replace(self._book[ids[node]], links=tuple(ids[earlier] for _, earlier in group))
            for node, group in by_node
        ]

    def _rank(self, query: Vector, question: Question) -> tuple[list[int], Decision]:
        """Sessions by the sum of their nodes' PageRank, and how granularities were weighed."""
        similarities = (self._nodes @ query).astype(np.float64)
        weights = granularity_weights(
            similarities, temperature=self._settings.temperature, normalised=self._routing == "normalised"
        )
        scores = similarities * weights
        restart = seeds(scores.ravel(), self._settings.seed_nodes)
        spread: Floats = scores
        if restart.any():
            ranks = pagerank(self._edges, restart, damping=self._settings.damping)
            spread = ranks.reshape(scores.shape)
        order = np.argsort(-np.nansum(spread, axis=1), kind="stable")
        shares = ", ".join(
            f"{kind} {weight:.2f}" for kind, weight in zip(GRANULARITIES, weights, strict=True)
        )
        decided_by = "rule" if restart.any() else "fallback"
        detail = shares if restart.any() else f"no positive score; {shares}"
        return [int(n) for n in order], Decision(
            "routing", question.question_id, self._routing, decided_by, detail=detail
        )

    def _lines(self, number: int, query: Vector, cosines: Vector) -> list[ContextItem]:
        """A session's summary with its keywords, then its turns; scores are cosines to the question."""
        session = self._sessions[number]
        turns = [
            message_item(m, float(score))
            for m, score in zip(session.messages, cosines[session.rows], strict=True)
        ]
        ids = [session.node_id(kind) for kind in ("summary", "keywords")]
        notes = [note for note in self._book.of_kind("summary", "keywords") if note.note_id in ids]
        near = self._book.nearest(query, notes, k=1)
        if not near:
            return turns
        whole = replace(notes[0], text=" Keywords: ".join(note.text for note in notes))
        # A line that names a whole session as its source would claim any evidence in it as found.
        return [note_item(whole, notes[0].kind.capitalize(), score=near[0][1], cites=False), *turns]

    async def _filter(
        self, offered: list[ContextItem], question: Question
    ) -> tuple[list[ContextItem], Decision]:
        """The lines that a model finds relevant; all of them when its reply cannot be used."""
        space = room(self._window, reply=FILTER_TOKENS)
        shown = pack(offered, space, self._tools.tokens)
        try:
            reply = await ask_with(
                self._tools,
                "memgas/filter",
                max_tokens=FILTER_TOKENS,
                question_id=question.question_id,
                lines=[item.text for item in shown],
                question=question.text,
            )
            kept = list(numbered(reply["keep"], shown))
            if reply["keep"] and not kept:
                raise ReplyInvalid("unknown_value", repr(reply["keep"])[:80])
        except ReplyInvalid as exc:
            return shown, Decision("filter", question.question_id, "unfiltered", "fallback", detail=str(exc))
        outcome = f"{len(kept)} of {len(shown)} lines"
        return kept, Decision("filter", question.question_id, outcome, "llm")


def _by_cosine(session: Session, cosines: Vector) -> list[str]:
    order = np.argsort(-cosines[session.rows], kind="stable")
    return [session.messages[i].message_id for i in order]
