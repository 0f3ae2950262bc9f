"""The rankings that the retrieval bench compares, over one conversation."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from memsif_ray.memory.lexical import LexicalIndex, lexical_terms
from memsif_ray.memory.ranking import InteractionIndex
from memsif_ray.memory.segments import Encoded
from memsif_ray.memory.structure import Structure
from memsif_ray.types import Matrix, Vector

_RRF = 60
"""Reciprocal rank fusion: the usual constant (Cormack et al., SIGIR 2009)."""

Unit = tuple[str, ...]
"""Ids of messages that are taken or left together."""


class Rankings:
    """Single messages by embedding, by BM25, by both, by structure; and whole segments by both.

    Every BM25 compares the same stems of content words, so that rankings differ in how they rank only.
    """

    def __init__(self, items: Sequence[Encoded], structure: Structure) -> None:
        """Index the conversation for each of them."""
        spoken = [(item.message, item.vector) for item in items if item.vector is not None]
        self.messages = [message for message, _ in spoken]
        self._vectors: Matrix = np.array([vector for _, vector in spoken], dtype=np.float32)
        self._ids: list[Unit] = [(message.message_id,) for message in self.messages]
        terms = {m.message_id: lexical_terms(f"{m.speaker}: {m.content}") for m in self.messages}
        self._lexical = LexicalIndex(list(terms.values()))
        said = [[i for i in segment.message_ids if i in terms] for segment in structure.segments]
        kept = [(tuple(ids), s.embedding) for ids, s in zip(said, structure.segments, strict=True) if ids]
        self._segments: list[Unit] = [ids for ids, _ in kept]
        self._segment_vectors: Matrix = np.array([embedding for _, embedding in kept], dtype=np.float32)
        self._segment_lexical = LexicalIndex([[t for i in ids for t in terms[i]] for ids in self._segments])
        self._index = InteractionIndex(
            items, structure.segments, structure.trajectories, ranking="structural"
        )

    def by_name(self) -> dict[str, Callable[[str, Vector], Sequence[Unit]]]:
        """Name → function of a question's text and vector that gives units, best first."""
        return {
            "dense messages": self._dense,
            "BM25 messages": self._bm25,
            "hybrid messages (RRF)": self._hybrid,
            "hybrid segments (RRF)": self._hybrid_segments,
            "structural": self._structural,
        }

    def _dense(self, text: str, vector: Vector) -> list[Unit]:
        return _ordered(self._ids, self._vectors @ vector)

    def _bm25(self, text: str, vector: Vector) -> list[Unit]:
        return _ordered(self._ids, self._lexical.scores(lexical_terms(text)))

    def _hybrid(self, text: str, vector: Vector) -> list[Unit]:
        lexical = self._lexical.scores(lexical_terms(text))
        return _ordered(self._ids, _fused(self._vectors @ vector, lexical))

    def _hybrid_segments(self, text: str, vector: Vector) -> list[Unit]:
        lexical = self._segment_lexical.scores(lexical_terms(text))
        return _ordered(self._segments, _fused(self._segment_vectors @ vector, lexical))

    def _structural(self, text: str, vector: Vector) -> list[Unit]:
        return [(ranked.message_id,) for ranked in self._index.rank(text, vector)]


def _ordered(units: Sequence[Unit], scores: np.ndarray) -> list[Unit]:
    return [units[i] for i in np.argsort(-scores, kind="stable")]


def _fused(*scores: np.ndarray) -> NDArray[np.float64]:
    """Sum of 1 / (60 + rank) over rankings, ranks from 1."""
    fused = np.zeros(len(scores[0]))
    for found in scores:
        order = np.argsort(-found, kind="stable")
        fused[order] += 1 / (_RRF + 1 + np.arange(len(order)))
    return fused
