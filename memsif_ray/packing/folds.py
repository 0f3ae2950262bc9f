"""Who may see which question. All budgets of a question always move together (OAS, 7.3)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from memsif_ray.packing.actions import Ints

Labels: TypeAlias = NDArray[Any]
Mask: TypeAlias = NDArray[np.bool_]

PAPER_SPLIT = (350, 75, 75)
"""Train, development and test questions of LongMemEval."""


@dataclass(frozen=True, slots=True)
class Rotation:
    """Row masks of one rotation: the router is fitted, calibrated and tested on different questions."""

    fit: Mask
    calibrate: Mask
    test: Mask


def fold_numbers(groups: ArrayLike, folds: int, *, seed: int) -> Ints:
    """A fold from 0 to `folds - 1` for every row, shape (n,); rows of one group share it.

    Groups are shuffled and dealt out, so fold sizes differ by one group at most. The order of rows does not
    matter.

    Raises:
        ValueError: When there are fewer groups than folds.
    """
    distinct, member = np.unique(np.asarray(groups), return_inverse=True)
    if len(distinct) < folds:
        raise ValueError(f"{len(distinct)} group(s) cannot fill {folds} folds")
    order = np.random.default_rng(seed).permutation(len(distinct))
    fold = np.empty(len(distinct), dtype=np.int64)
    fold[order] = np.arange(len(distinct)) % folds
    return np.asarray(fold[member], dtype=np.int64)


def rotations(questions: Labels, *, folds: int = 5, seed: int = 2026) -> Iterator[Rotation]:
    """Every fold tests once, while the next one calibrates and the others fit."""
    fold = fold_numbers(questions, folds, seed=seed)
    for k in range(folds):
        test, calibrate = fold == k, fold == (k + 1) % folds
        yield Rotation(~(test | calibrate), calibrate, test)


def partition(
    questions: Sequence[str],
    sizes: Sequence[int] = PAPER_SPLIT,
    *,
    seed: int = 2026,
    strata: Mapping[str, str] | None = None,
) -> tuple[tuple[str, ...], ...]:
    """Disjoint parts of the questions, of the given sizes.

    Args:
        questions: Ids; each counts once.
        sizes: Questions per part; those that are left over belong to none.
        seed: Of the shuffle.
        strata: Type of each question: every part then has its share of each type, as near as whole
            questions allow.

    Raises:
        ValueError: When there are too few questions.
    """
    distinct = sorted(set(questions))
    if len(distinct) < sum(sizes):
        raise ValueError(f"{len(distinct)} question(s) cannot fill parts of {', '.join(map(str, sizes))}")
    shuffled = [distinct[i] for i in np.random.default_rng(seed).permutation(len(distinct))]
    if strata is not None:
        shuffled = _interleaved(shuffled, strata)
    ends = np.cumsum(sizes)
    parts = (shuffled[end - size : end] for size, end in zip(sizes, ends, strict=True))
    return tuple(tuple(sorted(part)) for part in parts)


def _interleaved(questions: Sequence[str], strata: Mapping[str, str]) -> list[str]:
    """Types spread evenly: the i-th of n questions of a type stands at (i + 1/2) / n of the way."""
    by_type: dict[str, list[str]] = {}
    for question in questions:
        by_type.setdefault(strata[question], []).append(question)
    placed = [
        ((i + 0.5) / len(members), kind, question)
        for kind, members in by_type.items()
        for i, question in enumerate(members)
    ]
    return [question for _, _, question in sorted(placed, key=lambda one: one[:2])]
