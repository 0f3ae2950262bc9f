"""What every embedder owes its callers: one vector per text, each with a direction, none shifted.

Vectors that are not finite, zero, or of another size than expected are refused here, before anything
stores or caches them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from memsif_ray.errors import EmbedderMismatch, ServiceError
from memsif_ray.text import is_blank
from memsif_ray.types import Matrix

T = TypeVar("T")

_SHORTEST = 1e-12


def check_same_embedder(stored_model: str, stored_dim: int, model: str, dim: int) -> None:
    """Refuse to mix vectors, before anything is written.

    Raises:
        EmbedderMismatch: When the model or the size differs from what is stored.
    """
    if (stored_model, stored_dim) != (model, dim):
        raise EmbedderMismatch(
            f"stored vectors were made by {stored_model!r} with {stored_dim} numbers each, "
            f"not by {model!r} with {dim}: use that embedder, or build the memory anew"
        )


def unit_rows(vectors: Any, count: int, dim: int | None, model: str) -> Matrix:
    """Checked and scaled to unit length, as float32.

    Args:
        vectors: One per text.
        count: How many there must be.
        dim: Size that they must have; None = whatever the first has.
        model: For the message.

    Raises:
        ServiceError: When one is missing, of another size, not finite, or zero.
    """
    sizes = {len(vector) for vector in vectors}
    if len(vectors) != count or sizes - {dim or next(iter(sizes))} or 0 in sizes:
        wanted = f"{count} of {dim or 'one'} size"
        raise ServiceError(
            f"{model} gave {len(vectors)} vectors of sizes {sorted(sizes)}, not {wanted}", "wrong_size"
        )
    matrix = np.asarray(vectors, dtype=np.float64)
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    bad = np.flatnonzero(~np.isfinite(lengths[:, 0]) | (lengths[:, 0] < _SHORTEST))
    if bad.size:
        raise ServiceError(f"{model} gave vectors without a direction for texts {bad.tolist()}", "not_finite")
    rows: Matrix = (matrix / lengths).astype(np.float32)
    return rows


def distinct_texts(texts: Sequence[str]) -> tuple[list[str], list[int]]:
    """The texts without repetitions, and for each text its place among them.

    Raises:
        ValueError: On a blank text.
    """
    for position, text in enumerate(texts):
        if is_blank(text):
            raise ValueError(f"text {position} is blank: filter before embedding, so that no vector shifts")
    places = {text: place for place, text in enumerate(dict.fromkeys(texts))}
    return list(places), [places[text] for text in texts]


def no_vectors(dim: int | None) -> Matrix:
    """The embedding of no text at all, shape (0, dim)."""
    return np.zeros((0, dim or 0), dtype=np.float32)


def batches(items: list[T], size: int) -> Iterator[list[T]]:
    """`items` in slices of at most `size`."""
    return (items[start : start + size] for start in range(0, len(items), size))
