"""φ, the one matching function of messages, segments and trajectories (MemSIF, equation 1)."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from memsif_ray.types import Matrix, Vector

Normalisation = Literal["clip", "affine"]


def normalised(cosine: np.ndarray | float, how: Normalisation) -> np.ndarray | float:
    """A cosine in [-1, 1] brought to [0, 1]: `clip` = max(0, cos), `affine` = (1 + cos) / 2."""
    return np.clip(cosine, 0.0, 1.0) if how == "clip" else (1.0 + np.clip(cosine, -1.0, 1.0)) / 2.0


def jaccard(a: Set[str], b: Set[str]) -> float:
    """Overlap of two entity sets in [0, 1]; two empty sets share nothing, so 0."""
    if not a or not b:
        return 0.0
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared)


@dataclass(frozen=True, slots=True)
class Phi:
    """φ(A, B) = α · s_sem(A, B) + (1 − α) · J(K_A, K_B)."""

    alpha: float = 0.8
    normalisation: Normalisation = "clip"

    def score(self, cosine: float, overlap: float) -> float:
        """φ from a cosine and a Jaccard overlap."""
        return self.alpha * float(normalised(cosine, self.normalisation)) + (1 - self.alpha) * overlap


@dataclass(slots=True)
class Pool:
    """Running mean embedding and entity union of a growing unit: O(dim) per message, never recomputed."""

    total: Vector
    count: int = 0
    entities: set[str] = field(default_factory=set)

    @classmethod
    def empty(cls, dim: int) -> Pool:
        """A pool of nothing."""
        return cls(np.zeros(dim, dtype=np.float32))

    def add(self, vector: Vector | None, entities: Set[str]) -> None:
        """Take in one message; a blank one (no vector) changes nothing but the union."""
        if vector is not None:
            self.total += vector
            self.count += 1
        self.entities |= entities

    def absorb(self, other: Pool) -> None:
        """Take in every message of another pool."""
        self.total += other.total
        self.count += other.count
        self.entities |= other.entities

    def copy(self) -> Pool:
        """An independent pool with the same content."""
        return Pool(self.total.copy(), self.count, set(self.entities))

    def cosine(self, vector: Vector) -> float:
        """Cosine between the mean and a unit vector; 0 while the pool is empty."""
        norm = float(np.sqrt(self.total @ self.total))
        return float(self.total @ vector) / norm if norm > 0 else 0.0

    @property
    def direction(self) -> Vector:
        """The mean as a unit vector; zeros while the pool is empty."""
        norm = float(np.linalg.norm(self.total))
        return self.total / norm if norm > 0 else self.total


def coherence(vectors: Matrix, how: Normalisation = "clip") -> float:
    """Coh: mean pairwise normalised cosine of n unit vectors, shape (n, dim); 1 for a singleton (3.4).

    Raises:
        ValueError: On an empty set.
    """
    n = len(vectors)
    if n == 0:
        raise ValueError("coherence of an empty set is undefined")
    if n == 1:
        return 1.0
    upper = (vectors @ vectors.T)[np.triu_indices(n, k=1)]
    return float(np.mean(normalised(upper, how)))
