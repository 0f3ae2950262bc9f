"""BM25 over content words: finds the names, titles and rare words that embeddings blur."""

from __future__ import annotations

from collections.abc import Sequence

import bm25s
import numpy as np
from numpy.typing import NDArray

from memsif_ray.memory.terms import content_words, stems

K1, B = 1.2, 0.75


def lexical_terms(text: str) -> list[str]:
    """Stems of the content words in `text`, in order, as documents and queries are compared."""
    return stems(content_words(text))


class LexicalIndex:
    """BM25 (k1 = 1.2, b = 0.75) of a fixed list of documents.

    Args:
        documents: Each one's terms; a document may be empty.
    """

    def __init__(self, documents: Sequence[Sequence[str]]) -> None:
        """Index once; queries change nothing."""
        self._size = len(documents)
        self._bm25: bm25s.BM25 | None = None
        if any(documents):  # the library cannot index documents that have no word between them
            self._bm25 = bm25s.BM25(k1=K1, b=B)
            self._bm25.index([list(terms) for terms in documents], show_progress=False)

    def scores(self, query: Sequence[str]) -> NDArray[np.float64]:
        """Score per document, shape (n,); 0 where no term is shared. A repeated term counts once."""
        asked = list(dict.fromkeys(query))
        if self._bm25 is None or not asked:
            return np.zeros(self._size)
        return np.asarray(self._bm25.get_scores(asked), dtype=np.float64)
