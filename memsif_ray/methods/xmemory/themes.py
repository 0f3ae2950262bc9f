"""xMemory's themes: groups of facts that split and merge so that an objective of the whole partition rises.

Nothing but the facts' vectors decides, in the order in which the facts were learnt.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from memsif_ray.config import Strict
from memsif_ray.types import Matrix, Vector

Group = tuple[int, ...]
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


class Facts:
    """Vectors of facts, and what was worked out of groups of them, since most groups stay as they are."""

    def __init__(self, vectors: Matrix) -> None:
        """Unit vectors, shape (n, dim)."""
        self.vectors = vectors
        self._known: dict[Group, tuple[Vector, float]] = {}

    def centroid(self, group: Group) -> Vector:
        """Unit vector in the direction of the group's mean; see `centroid`."""
        return self._of(group)[0]

    def cohesion(self, group: Group) -> float:
        """Mean cosine of a group's facts to its centroid."""
        return self._of(group)[1]

    def _of(self, group: Group) -> tuple[Vector, float]:
        if group not in self._known:
            members = self.vectors[list(group)]
            middle = centroid(members)
            self._known[group] = middle, float((members @ middle).mean())
        return self._known[group]


def themes_of(vectors: Matrix, limits: ThemeLimits) -> list[Group]:
    """The themes of facts that came one after another.

    Args:
        vectors: Unit vectors of the facts, shape (n, dim).
        limits: Thresholds.
    """
    facts = Facts(vectors)
    groups: list[Group] = []
    for fact in range(len(vectors)):
        groups, at = attach(fact, groups, facts, limits)
        settle = split if _splits(groups[at], facts, limits) else merge
        groups = settle(groups, at, facts, limits)
    return groups


def attach(fact: int, groups: Sequence[Group], facts: Facts, limits: ThemeLimits) -> tuple[list[Group], int]:
    """The partition with a fact in the nearest theme, or in a new one at the end; and which it is."""
    if groups:
        scores = _centroids(groups, facts) @ facts.vectors[fact]
        at = int(np.argmax(scores))
        has_room = len(groups[at]) < limits.theme_size
        if scores[at] >= limits.attach or (has_room and scores[at] >= limits.attach_roomy):
            return [*groups[:at], (*groups[at], fact), *groups[at + 1 :]], at
    return [*groups, (fact,)], len(groups)


def split(groups: Sequence[Group], at: int, facts: Facts, limits: ThemeLimits) -> list[Group]:
    """The partition with theme `at` in two, such that the objective is highest.

    Each candidate grows from two facts of the theme: every other one joins the nearer of them.
    """
    group, vectors = groups[at], facts.vectors
    pairs = sorted(combinations(group, 2), key=lambda pair: float(vectors[pair[0]] @ vectors[pair[1]]))
    candidates = [
        [*groups[:at], *_halves(group, *pair, vectors), *groups[at + 1 :]] for pair in pairs[:_SEEDS]
    ]
    return max(candidates, key=lambda partition: objective(partition, facts, limits.neighbours))


def merge(groups: Sequence[Group], at: int, facts: Facts, limits: ThemeLimits) -> list[Group]:
    """The partition with theme `at` and the one nearest to it in one, if that is better; else as it was."""
    apart = list(groups)
    scores = _centroids(groups, facts) @ facts.centroid(groups[at])
    scores[at] = -np.inf
    other = int(np.argmax(scores))
    if scores[other] < limits.merge:
        return apart
    joined = tuple(sorted(groups[at] + groups[other]))
    if _splits(joined, facts, limits):  # or it would fall apart with the next fact
        return apart
    merged = [*(group for i, group in enumerate(groups) if i not in (at, other)), joined]
    return max(apart, merged, key=lambda partition: objective(partition, facts, limits.neighbours))


def objective(groups: Sequence[Group], facts: Facts, neighbours: int) -> float:
    """How good a partition is: sparsity plus the mean of each theme's cohesion times its closeness.

    Sparsity is N² / (K Σ n²), 1 when all K themes are of one size. A theme's cohesion is the mean cosine of
    its facts to its centroid. Its closeness is 1 − |s − median of all s|, where s is its mean cosine to its
    nearest other themes: themes should be neither redundant nor isolated.
    """
    sizes = np.array([len(group) for group in groups], dtype=np.float64)
    sparsity = sizes.sum() ** 2 / (len(groups) * (sizes**2).sum())
    cohesions = np.array([facts.cohesion(group) for group in groups])
    return float(sparsity + (cohesions * _closeness(_centroids(groups, facts), neighbours)).mean())


def centroid(members: Matrix) -> Vector:
    """Unit vector in the direction of the members' mean, shape (dim,); zero when they cancel out."""
    mean: Vector = members.mean(axis=0)
    length = float(np.linalg.norm(mean))
    return mean / length if length else mean


def nearest(vectors: Matrix, k: int) -> NDArray[np.intp]:
    """The nearest-neighbour graph: row i holds the at most `k` others most similar to i, nearest first."""
    return np.argsort(-_similarities(vectors), axis=1, kind="stable")[:, : min(k, len(vectors) - 1)]


def _centroids(groups: Sequence[Group], facts: Facts) -> Matrix:
    return np.stack([facts.centroid(group) for group in groups])


def _closeness(centroids: Matrix, k: int) -> NDArray[np.float64]:
    if len(centroids) == 1:
        return np.ones(1)
    k = min(k, len(centroids) - 1)
    means = -np.partition(-_similarities(centroids), k - 1, axis=1)[:, :k].mean(axis=1)
    return np.asarray(1 - np.abs(means - np.median(means)), dtype=np.float64)


def _similarities(vectors: Matrix) -> NDArray[np.float64]:
    """Pairwise cosines; −∞ on the diagonal, so that nothing is its own neighbour."""
    scores = (vectors @ vectors.T).astype(np.float64)
    np.fill_diagonal(scores, -np.inf)
    return scores


def _splits(group: Group, facts: Facts, limits: ThemeLimits) -> bool:
    if len(group) > limits.theme_size:
        return True
    return len(group) >= limits.loose_size and facts.cohesion(group) < limits.loose


def _halves(group: Group, one: int, other: int, vectors: Matrix) -> tuple[Group, Group]:
    """The facts nearer to `one`, and the others; where both are equally near, `other` has them."""
    nearer = vectors[list(group)] @ (vectors[one] - vectors[other]) > 0
    near = tuple(fact for fact, is_near in zip(group, nearer, strict=True) if fact == one or is_near)
    return near, tuple(fact for fact in group if fact not in near)
