"""A number, or the reason why there is none; never NaN."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memsif_ray.types import Matrix

_SHORTEST = 1e-12


@dataclass(frozen=True, slots=True)
class Measured:
    """One measurement.

    Attributes:
        value: None when it has no meaning.
        reason: Then, why: of vectors `no_segments`, `one_segment`, `two_segments`, `zero_vector` or
            `not_finite`; of what models say `nothing_critical`, `nothing_judged`, `too_few` or `constant`.
    """

    value: float | None
    reason: str = ""


_TOO_FEW = ("no_segments", "one_segment", "two_segments")


def unusable(vectors: Matrix, *, least: int) -> str:
    """Why these embeddings cannot be measured, or "".

    Args:
        vectors: Shape (segments, dim).
        least: Segments that the measurement takes, at most three.
    """
    if len(vectors) < least:
        return _TOO_FEW[len(vectors)]
    if not np.isfinite(vectors).all():
        return "not_finite"
    if (np.linalg.norm(vectors.astype(np.float64), axis=1) < _SHORTEST).any():
        return "zero_vector"
    return ""


def directions(vectors: Matrix) -> NDArray[np.float64]:
    """Rows scaled to unit length in double precision, so that a dot product is a cosine."""
    rows = vectors.astype(np.float64)
    scaled: NDArray[np.float64] = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return scaled
