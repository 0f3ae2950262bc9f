"""xMemory's read path: from themes to facts, episodes and messages, as far as uncertainty falls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from memsif_ray.config import Strict
from memsif_ray.methods.notebook import NoteBook
from memsif_ray.methods.xmemory.doubt import Doubt
from memsif_ray.methods.xmemory.episodes import note_line
from memsif_ray.methods.xmemory.themes import centroid, nearest
from memsif_ray.types import Decision, Matrix, Note, Question, Vector

_FEW, _SOME = 3, 10
"""Episodes of which one, and of which two, may bring too little before probing stops."""


class ReadingLimits(Strict):
    """How far one question reads; defaults are the official evaluation script's."""

    facts_top_k: int = Field(40, ge=1, description="Nearest facts, whose themes are candidates")
    themes: int = Field(5, ge=1, description="Most themes chosen")
    facts: int = Field(20, ge=1, description="Most facts chosen inside them")
    coverage: float = Field(
        0.7, ge=0, le=1, description="Weight of coverage against similarity to the question"
    )
    episodes_top_k: int = Field(10, ge=0, description="Nearest episodes added to the pool")
    parent_weight: float = Field(0.5, ge=0, description="Weight of an episode's best chosen fact")
    episodes: int = Field(10, ge=1, description="Most episodes probed")
    select_gain: float = Field(-0.4, description="Fall of uncertainty above which an episode is selected")
    expand_gain: float = Field(0.25, description="Fall above which its messages are shown, too")


@dataclass(frozen=True, slots=True)
class Hit:
    """A note that was chosen; `expanded` is an episode whose messages are shown, too."""

    note: Note
    score: float
    expanded: bool = False


class Hierarchy:
    """Themes over facts over episodes, with the nearest-neighbour graphs of themes and facts."""

    def __init__(self, book: NoteBook, *, neighbours: int) -> None:
        """Read what the notebook holds; a theme's vector is the centroid of its facts."""
        self.facts, self.themes = book.of_kind("fact"), book.of_kind("theme")
        self.episodes = [note for note in book.of_kind("episode") if book.vector(note.note_id) is not None]
        self._book = book
        place = {fact.note_id: at for at, fact in enumerate(self.facts)}
        self.members = [[place[fact_id] for fact_id in theme.links] for theme in self.themes]
        self.theme_of = {fact: theme for theme, facts in enumerate(self.members) for fact in facts}
        if self.facts:
            self.fact_vectors = book.matrix(self.facts)
            self.fact_graph = nearest(self.fact_vectors, neighbours)
            self.theme_vectors: Matrix = np.stack([centroid(self.fact_vectors[m]) for m in self.members])
            self.theme_graph = nearest(self.theme_vectors, neighbours)

    def chosen(self, query: Vector, limits: ReadingLimits) -> tuple[list[Hit], list[Hit]]:
        """The themes and, inside them, the facts that together cover what is near the question."""
        if not self.facts:
            return [], []
        scores = self.fact_vectors @ query
        best = np.argsort(-scores, kind="stable")[: limits.facts_top_k]
        candidates = list(dict.fromkeys(self.theme_of[int(fact)] for fact in best))
        theme_scores = self.theme_vectors @ query
        themes = cover(
            candidates, theme_scores, self.theme_graph, limit=limits.themes, weight=limits.coverage
        )
        inside = [fact for theme in themes for fact in self.members[theme]]
        facts = cover(inside, scores, self.fact_graph, limit=limits.facts, weight=limits.coverage)
        return (
            [Hit(self.themes[theme], float(theme_scores[theme])) for theme in themes],
            [Hit(self.facts[fact], float(scores[fact])) for fact in facts],
        )

    def pool(self, query: Vector, facts: Sequence[Hit], limits: ReadingLimits) -> list[Hit]:
        """Episodes worth probing, in order: those behind the facts and those near the question.

        Priority is the cosine, scaled to [0, 1] over the pool, plus half of the best score of a chosen fact
        that came from the episode. The score of a hit is its cosine.
        """
        parents: dict[str, float] = {}
        for fact in facts:
            for episode_id in fact.note.links:
                parents[episode_id] = max(fact.score, parents.get(episode_id, fact.score))
        ranked = self._book.nearest(query, self.episodes, k=len(self.episodes))
        near = {note.note_id for note, _ in ranked[: limits.episodes_top_k]}
        pool = [Hit(note, score) for note, score in ranked if note.note_id in near or note.note_id in parents]
        scaled = _scaled([hit.score for hit in pool])
        priority = {
            hit.note.note_id: share + limits.parent_weight * parents.get(hit.note.note_id, 0.0)
            for hit, share in zip(pool, scaled, strict=True)
        }
        return sorted(pool, key=lambda hit: -priority[hit.note.note_id])


async def gate(
    question: Question, base: Sequence[Hit], pool: Sequence[Hit], *, doubt: Doubt, limits: ReadingLimits
) -> tuple[list[Hit], list[Decision]]:
    """The episodes that do not make the model less certain, by their order in the pool.

    An episode whose gain is not above `select_gain` counts as low. Probing stops when one of the first three
    or two of the first ten are low. When none was selected the first candidate is.

    Args:
        question: What is asked.
        base: Themes and facts, always shown.
        pool: Episodes in order of priority.
        doubt: Measures uncertainty.
        limits: Thresholds.

    Raises:
        ServiceError: When the endpoint failed.
    """
    shown = [note_line(hit.note) for hit in base]
    before = await doubt.of(shown)
    decisions = [doubt.decision(before)]
    selected: list[Hit] = []
    low = 0
    for probed, hit in enumerate(pool[: limits.episodes], start=1):
        line = note_line(hit.note)
        after = await doubt.of([*shown, line])
        gain = min(before, doubt.worst) - after  # before, the measure may not have been known yet
        if gain > limits.select_gain:
            selected.append(Hit(hit.note, hit.score, expanded=gain > limits.expand_gain))
            shown.append(line)
            before = after
        else:
            low += 1
        decisions.append(_ruling(question, hit, gain, limits))
        if low >= 2 and probed <= _SOME or low and probed <= _FEW:
            break
    return selected or list(pool[:1]), decisions


def cover(
    candidates: Sequence[int],
    scores: NDArray[np.floating],
    graph: NDArray[np.intp],
    *,
    limit: int,
    weight: float,
) -> list[int]:
    """Candidates chosen one by one, each for what it newly covers and for its similarity to the question.

    A candidate covers itself and its neighbours among the candidates; its gain is the share of all candidates
    that it covers and none chosen before does. Equal ones are chosen in the order given.

    Args:
        candidates: Distinct rows of `scores` and `graph`.
        scores: Similarity to the question, of every row.
        graph: Neighbours of every row.
        limit: At most this many are chosen.
        weight: Of coverage; similarity has the rest.
    """
    reach = {one: {one, *map(int, graph[one])}.intersection(candidates) for one in candidates}
    covered: set[int] = set()
    chosen: list[int] = []
    while len(chosen) < min(limit, len(candidates)):
        best = max(
            (one for one in candidates if one not in chosen),
            key=lambda one: (
                weight * len(reach[one] - covered) / len(candidates) + (1 - weight) * float(scores[one])
            ),
        )
        chosen.append(best)
        covered |= reach[best]
    return chosen


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


def _ruling(question: Question, hit: Hit, gain: float, limits: ReadingLimits) -> Decision:
    ruling = "low"
    if gain > limits.select_gain:
        ruling = "expand" if gain > limits.expand_gain else "select"
    return Decision("episode", question.question_id, ruling, "threshold", gain, hit.note.note_id)
