"""What gold evidence costs in tokens, and how often all of it fits (OAS, 4): what defines a tight budget."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memsif_ray.datasets.model import Dataset
from memsif_ray.memory.evidence import dated_line
from memsif_ray.packing.sampling import askable
from memsif_ray.ports import TokenCounter
from memsif_ray.types import Category, Message

PAPER_MEDIAN = 59.0
"""Tokens of a LongMemEval evidence turn in the paper, whose tokenizer is not named."""
PAPER_FULL_FIT = {32: 0.013, 64: 0.093, 128: 0.520, 256: 0.853}
"""Share of the paper's 75 test questions whose evidence fits, by budget."""
PAPER_TEST_TYPES = {
    Category.SINGLE_HOP: 9,
    Category.MULTI_HOP: 13,
    Category.TEMPORAL: 13,
    Category.KNOWLEDGE: 40,
}
"""Questions by type in the paper's test split (OAS, 7.5)."""

RENDERINGS: dict[str, Callable[[Message], str]] = {
    "bare turn": lambda message: message.content,
    "line as packed": dated_line,
}
"""A turn by itself, and as a line of an answer context: with date and speaker, relative dates resolved."""
_DRAWS = 500


@dataclass(frozen=True, slots=True)
class Costs:
    """Tokens of one rendering.

    Attributes:
        types: Of each question.
        questions: All evidence of each question, lines joined by line breaks, shape (questions,).
        turns: Of each evidence turn, one array per question.
    """

    types: tuple[Category, ...]
    questions: NDArray[np.int64]
    turns: tuple[NDArray[np.int64], ...]


@dataclass(frozen=True, slots=True)
class Spread:
    """A number in random splits: its mean, and the range of the middle 95 %."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class EvidenceCost:
    """The statistics of one rendering.

    Attributes:
        rendering: Key of `RENDERINGS`.
        questions: How many.
        turns: Their evidence turns.
        median_turn: Tokens.
        full_fit: Budget → share of questions whose evidence fits.
        like_paper: The same six numbers in random splits with the paper's numbers of each type; the keys are
            0 for the median and the budgets. Empty when there are too few questions of a type.
    """

    rendering: str
    questions: int
    turns: int
    median_turn: float
    full_fit: Mapping[int, float]
    like_paper: Mapping[int, Spread]


def evidence_costs(
    dataset: Dataset, *, tokens: TokenCounter, budgets: Sequence[int], seed: int = 2026
) -> list[EvidenceCost]:
    """Measure every rendering."""
    return [
        _summary(name, costs_of(dataset, render, tokens=tokens), budgets, seed=seed)
        for name, render in RENDERINGS.items()
    ]


def costs_of(dataset: Dataset, render: Callable[[Message], str], *, tokens: TokenCounter) -> Costs:
    """Count the gold evidence of every question that has some."""
    said = {(c.conversation_id, m.message_id): m for c in dataset.conversations for m in c.messages}
    types, whole, turns = [], [], []
    for question in askable(dataset):
        evidence = dataset.gold[question.question_id].evidence
        lines = [render(said[question.conversation_id, message_id]) for message_id in evidence]
        types.append(question.category)
        whole.append(tokens.count("\n".join(lines)))
        turns.append(np.array([tokens.count(line) for line in lines], dtype=np.int64))
    return Costs(tuple(types), np.array(whole, dtype=np.int64), tuple(turns))


def _summary(name: str, costs: Costs, budgets: Sequence[int], *, seed: int) -> EvidenceCost:
    everything = np.arange(len(costs.questions))
    median, *fits = _numbers(costs, everything, budgets)
    like: dict[int, Spread] = {}
    if splits := _drawn(costs.types, seed=seed):
        each = np.array([_numbers(costs, split, budgets) for split in splits])
        low, high = np.quantile(each, [0.025, 0.975], axis=0)
        columns = zip(each.mean(axis=0), low, high, strict=True)
        like = {key: Spread(*map(float, one)) for key, one in zip((0, *budgets), columns, strict=True)}
    return EvidenceCost(
        name,
        len(everything),
        sum(map(len, costs.turns)),
        median,
        dict(zip(budgets, fits, strict=True)),
        like,
    )


def _numbers(costs: Costs, split: NDArray[np.int64], budgets: Sequence[int]) -> list[float]:
    """Median turn, then the share that fits at each budget."""
    if not len(split):
        return [float("nan")] * (1 + len(budgets))
    median = float(np.median(np.concatenate([costs.turns[i] for i in split])))
    return [median, *(float((costs.questions[split] <= budget).mean()) for budget in budgets)]


def _drawn(types: Sequence[Category], *, seed: int) -> list[NDArray[np.int64]]:
    """Random splits with the paper's numbers of each type."""
    kinds = np.array(types)
    members = {kind: np.flatnonzero(kinds == kind) for kind in PAPER_TEST_TYPES}
    if any(len(members[kind]) < size for kind, size in PAPER_TEST_TYPES.items()):
        return []
    rng = np.random.default_rng(seed)
    return [
        np.concatenate(
            [rng.choice(members[kind], size, replace=False) for kind, size in PAPER_TEST_TYPES.items()]
        )
        for _ in range(_DRAWS)
    ]
