"""What is known about a packing decision before anything is generated (OAS, 3.3).

`PAPER` are the eleven features of the paper, in its order. `EXTENDED` are those and more. A router is made
for one of the two sets and refuses the other, so results on them never mix.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from memsif_ray.memory.tools import Tools
from memsif_ray.packing.actions import Floats
from memsif_ray.packing.operators import Notes, joined, retained
from memsif_ray.text import words
from memsif_ray.types import Category, ContextItem, Matrix, Question

FeatureSet: TypeAlias = Literal["paper", "extended"]

QUERY_TYPES = (Category.SINGLE_HOP, Category.MULTI_HOP, Category.TEMPORAL, Category.KNOWLEDGE)
"""A question of no such type, as adversarial ones are, has four zeros: the router must not know of traps."""

PAPER = (
    "budget_512",
    "notes",
    "cost_per_budget",
    "fit_fraction",
    "sessions",
    "spread",
    "mean_cosine",
    *(f"type_{category}" for category in QUERY_TYPES),
)
EXTENDED = (
    *PAPER,
    "question_words",
    "log_age_days",
    "log_span_days",
    "lexical_overlap",
    "largest_per_budget",
    "digit_share",
)
NAMES: dict[FeatureSet, tuple[str, ...]] = {"paper": PAPER, "extended": EXTENDED}

_SCALE = 512.0
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Features:
    """One instance as a router sees it.

    Attributes:
        names: Of `values`, in order.
        values: One number each.
        embedder: Id of the embedder behind `spread` and `mean_cosine`.
    """

    names: tuple[str, ...]
    values: tuple[float, ...]
    embedder: str

    def __getitem__(self, name: str) -> float:
        """The value of one feature."""
        return self.values[self.names.index(name)]


async def features_of(
    notes: Notes, question: Question, *, budget: int, tools: Tools, kind: FeatureSet = "paper"
) -> Features:
    """Describe one (question, candidate notes, budget).

    Args:
        notes: Candidates in reading order, none blank, texts as they are shown.
        question: Its text and type; in a deployment the type is what a classifier says.
        budget: Tokens, positive.
        tools: Embedder and token counter.
        kind: Which set.

    Raises:
        ValueError: Without a note or with a budget of zero or less: then there is nothing to decide.
        ServiceError: When the embedder failed.
    """
    if not notes or budget <= 0:
        raise ValueError("features need a note and a positive budget")
    vectors = await tools.embedder.embed([note.text for note in notes])
    kept = retained(notes, budget, tokens=tools.tokens)
    values = [
        budget / _SCALE,
        len(notes),
        tools.tokens.count(joined(notes)) / budget,
        len(kept.items) / len(notes),
        _sessions(notes),
        *geometry(vectors),
        *(question.category == category for category in QUERY_TYPES),
    ]
    if kind == "extended":
        largest = max(tools.tokens.count(note.text) for note in notes)
        values += [*_of_question(notes, question), largest / budget, _digit_share(notes)]
    return Features(NAMES[kind], tuple(map(float, values)), tools.embedder.model_id)


def geometry(vectors: Matrix | Floats) -> tuple[float, float]:
    """Mean squared distance of unit vectors to their mean, and their mean pairwise cosine.

    Args:
        vectors: Shape (n, dim), n at least 1. One vector has distance 0 and cosine 1: it agrees with itself.
    """
    n, centre = len(vectors), np.asarray(vectors, dtype=np.float64).mean(axis=0)
    spread = float(np.square(vectors - centre).sum(axis=1).mean())
    if n == 1:
        return spread, 1.0
    # The sum of all n² cosines is |sum of vectors|²; n of them are of a vector with itself.
    own = float(np.square(np.asarray(vectors, dtype=np.float64)).sum())
    return spread, (n * n * float(centre @ centre) - own) / (n * (n - 1))


def _sessions(notes: Notes) -> int:
    """All messages of a session carry its time, so times tell sessions apart; undated notes count as one."""
    return len({note.timestamp for note in notes})


def _of_question(notes: Notes, question: Question) -> list[float]:
    asked = words(question.text)
    said = {word for note in notes for word in words(note.text)}
    overlap = sum(word in said for word in set(asked)) / max(1, len(set(asked)))
    return [len(asked), *_ages(notes, question), overlap]


def _ages(notes: Sequence[ContextItem], question: Question) -> tuple[float, float]:
    """log(1 + days) from the median note to the question and from first note to last; 0 if unknown."""
    times = sorted(note.timestamp for note in notes if note.timestamp is not None)
    if not times:
        return 0.0, 0.0
    span = (times[-1] - times[0]).total_seconds() / _DAY
    if question.asked_at is None:
        return 0.0, float(np.log1p(span))
    age = (question.asked_at - times[len(times) // 2]).total_seconds() / _DAY
    return float(np.log1p(max(0.0, age))), float(np.log1p(span))


def _digit_share(notes: Notes) -> float:
    """Share of words with a digit: dates and amounts are what compression loses first."""
    said = [word for note in notes for word in words(note.text)]
    return sum(any(map(str.isdigit, word)) for word in said) / max(1, len(said))
