"""Embeddings."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float32]
"""One embedding, shape (dim,), unit length."""
Matrix: TypeAlias = NDArray[np.float32]
"""Embeddings, shape (n, dim), rows of unit length."""


@dataclass(frozen=True, slots=True)
class StoredVector:
    """An embedding kept beside the unit it belongs to.

    `kind` is `message`, `fact`, `statement` or `query` (the last two belong to candidate clusters);
    `entities` are a message's key entities.
    """

    kind: str
    unit_id: str
    model_id: str
    vector: Vector
    entities: frozenset[str] = frozenset()
