"""Stored embeddings by the unit they belong to, refused as a whole when another embedder made them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from memsif_ray.errors import EmbedderMismatch
from memsif_ray.types import Matrix, StoredVector, Vector


class VectorShelf:
    """Vectors of one conversation's memory.

    Args:
        vectors: As stored.
        model_id: The embedder in use now.
        conversation_id: Named in the error.

    Raises:
        EmbedderMismatch: When any vector is of another model: old and new ones never mix.
    """

    def __init__(self, vectors: Sequence[StoredVector], model_id: str, conversation_id: str) -> None:
        """Check, then index."""
        other = next((v for v in vectors if v.model_id != model_id), None)
        if other is not None:
            raise EmbedderMismatch(
                f"memory of {conversation_id!r} holds vectors of {other.model_id!r} "
                f"({len(other.vector)} numbers), "
                f"but the configured embedder is {model_id!r}: use that embedder, or make the vectors anew "
                "(`memsif reembed` for a service's store)"
            )
        self._by_key = {(v.kind, v.unit_id): v for v in vectors}

    def get(self, kind: str, unit_id: str) -> Vector | None:
        """One vector, shape (dim,); None when the unit has none."""
        stored = self._by_key.get((kind, unit_id))
        return None if stored is None else stored.vector

    def entities(self, message_id: str) -> frozenset[str]:
        """Key entities kept beside a message's vector."""
        stored = self._by_key.get(("message", message_id))
        return frozenset() if stored is None else stored.entities

    def rows(self, kind: str, owner_id: str) -> Matrix:
        """The vectors numbered under one owner (`owner/0000`, ...), shape (n, dim)."""
        prefix = f"{owner_id}/"
        keys = sorted(key for key in self._by_key if key[0] == kind and key[1].startswith(prefix))
        return np.array([self._by_key[key].vector for key in keys], dtype=np.float32)
