"""xMemory's themes: groups of facts that split and merge so that an objective of the whole partition rises.

Pure functions over the facts' vectors, in the order in which the facts were learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from memsif_ray.config import Strict
from memsif_ray.types import Matrix, Vector

Group = list[int]
"""Indices of a theme's facts, ascending."""

_SEEDS = 10
"""Pairs of facts, the least similar ones, from which a split may grow."""


class ThemeLimits(Strict):
    """When facts attach to a theme, and when themes split and merge; defaults are the official code's."""

    attach: float = Field(0.62, ge=-1, le=1, description="Cosine to a theme that always attaches")
    attach_roomy: float = Field(
        0.52, ge=-1, le=1, description="Cosine that attaches while the theme has room"
    )
    theme_size: int = Field(12, ge=2, description="Facts above which a theme splits")
    loose_size: int = Field(8, ge=2, description="Facts from which a loose theme splits")
    loose: float = Field(0.72, ge=-1, le=1, description="Cohesion below which a theme is loose")
    merge: float = Field(0.78, ge=-1, le=1, description="Cosine of two themes that may merge")
    neighbours: int = Field(10, ge=1, description="k of the nearest-neighbour graphs")


def themes_of(vectors: Matrix, limits: ThemeLimits) -> list[Group]:
    """The themes of facts that came one after another.

    Args:
        vectors: Unit vectors of the facts, shape (n, dim).
        limits: Thresholds.
    """
    groups: list[Group] = []
    for fact in range(len(vectors)):
        at = attach(fact, groups, vectors, limits)
        if _splits(groups[at], vectors, limits):
            groups = split(groups, at, vectors, limits)
        else:
            groups = merge(groups, at, vectors, limits)
    return groups


def attach(fact: int, groups: list[Group], vectors: Matrix, limits: ThemeLimits) -> int:
    """Put a fact into the nearest theme, or into a new one at the end; returns where."""
    if groups:
        scores = [float(centroid(vectors[group]) @ vectors[fact]) for group in groups]
        at = int(np.argmax(scores))
        has_room = len(groups[at]) < limits.theme_size
        if scores[at] >= limits.attach or (has_room and scores[at] >= limits.attach_roomy):
            groups[at].append(fact)
            return at
    groups.append([fact])
    return len(groups) - 1


def split(groups: Sequence[Group], at: int, vectors: Matrix, limits: ThemeLimits) -> list[Group]:
    """The partition with theme `at` in two, such that the objective is highest.

    Each candidate grows from two facts of the theme: every other one joins the nearer of them.
    """
    group = groups[at]
    pairs = sorted(combinations(group, 2), key=lambda pair: float(vectors[pair[0]] @ vectors[pair[1]]))
    candidates = [
        [*groups[:at], *_halves(group, *pair, vectors), *groups[at + 1 :]] for pair in pairs[:_SEEDS]
    ]
    return max(candidates, key=lambda partition: objective(partition, vectors, limits.neighbours))


def merge(groups: list[Group], at: int, vectors: Matrix, limits: ThemeLimits) -> list[Group]:
    """The partition with theme `at` and the one nearest to it in one, if that is better; else as it was."""
    centroids = np.stack([centroid(vectors[group]) for group in groups])
    scores = centroids @ centroids[at]
    scores[at] = -np.inf
    other = int(np.argmax(scores))
    if scores[other] < limits.merge:
        return groups
    joined = sorted(groups[at] + groups[other])
    merged = [*(group for i, group in enumerate(groups) if i not in (at, other)), joined]
    if _splits(joined, vectors, limits):  # or it would fall apart with the next fact
        return groups
    better = objective(merged, vectors, limits.neighbours) > objective(groups, vectors, limits.neighbours)
    return merged if better else groups


def objective(groups: Sequence[Group], vectors: Matrix, neighbours: int) -> float:
    """How good a partition is: sparsity plus the mean of each theme's cohesion times its closeness.

    Sparsity is N² / (K Σ n²), 1 when all K themes are of one size. A theme's cohesion is the mean cosine of
    its facts to its centroid. Its closeness is 1 − |s − median of all s|, where s is its mean cosine to its
    nearest other themes: themes should be neither redundant nor isolated.
    """
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    sparsity = sizes.sum() ** 2 / (len(groups) * (sizes**2).sum())
    centroids = np.stack([centroid(vectors[group]) for group in groups])
    cohesions = np.array([cohesion(vectors[group]) for group in groups])
    return float(sparsity + (cohesions * _closeness(centroids, neighbours)).mean())


def centroid(members: Matrix) -> Vector:
    """Unit vector in the direction of the members' mean, shape (dim,); zero when they cancel out."""
    mean: Vector = members.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return mean / length if length else mean


def cohesion(members: Matrix) -> float:
    """Mean cosine of a theme's facts to its centroid."""
    return float((members @ centroid(members)).mean())


def nearest(vectors: Matrix, k: int) -> NDArray[np.intp]:
    """The nearest-neighbour graph: row i holds the at most `k` others most similar to i, nearest first."""
    return np.argsort(-_similarities(vectors), axis=1, kind="stable")[:, : min(k, len(vectors) - 1)]


def _closeness(centroids: Matrix, k: int) -> NDArray[np.float64]:
    if len(centroids) == 1:
        return np.ones(1)
    order = nearest(centroids, k)
    means = np.take_along_axis(_similarities(centroids), order, axis=1).mean(axis=1)
    return np.asarray(1 - np.abs(means - np.median(means)), dtype=np.float64)


def _similarities(vectors: Matrix) -> NDArray[np.float64]:
    """Pairwise cosines; −∞ on the diagonal, so that nothing is its own neighbour."""
    scores = (vectors @ vectors.T).astype(np.float64)
    np.fill_diagonal(scores, -np.inf)
    return scores


def _splits(group: Group, vectors: Matrix, limits: ThemeLimits) -> bool:
    if len(group) > limits.theme_size:
        return True
    return len(group) >= limits.loose_size and cohesion(vectors[group]) < limits.loose


def _halves(group: Group, one: int, other: int, vectors: Matrix) -> tuple[Group, Group]:
    near = {
        fact for fact in group if fact == one or vectors[fact] @ vectors[one] > vectors[fact] @ vectors[other]
    }
    near.discard(other)
    return [fact for fact in group if fact in near], [fact for fact in group if fact not in near]
