"""BM25 over content words: finds the names, titles and rare words that embeddings blur."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from memsif_ray.memory.terms import content_words, stems

K1, B = 1.2, 0.75

Terms = Sequence[str]
Counts = NDArray[np.float32]
Places = NDArray[np.int64]


def lexical_terms(text: str) -> list[str]:
    """Stems of the content words in `text`, in order, as documents and queries are compared."""
    return stems(content_words(text))


class LexicalIndex:
    """BM25 (k1 = 1.2, b = 0.75, Lucene's idf) of a list of documents, which does not change.

    It holds counts and no scores: a score depends on how many documents there are and how long they are, so
    that one more document changes all of them, but only the counts of its own terms. The numbers are those
    of the library bm25s to the last bit (a test compares them); it cannot add a document, and takes most of
    a second to begin anew with 5,000.

    Args:
        documents: Each one's terms; a document may be empty.
    """

    def __init__(self, documents: Sequence[Terms] = ()) -> None:
        """Count once; queries change nothing."""
        self._documents: list[Terms] = list(documents)
        self._lengths = np.array([len(terms) for terms in documents], dtype=np.float64)
        self._postings = _counted(documents, start=0)

    def followed_by(self, place: int, documents: Sequence[Terms]) -> LexicalIndex:
        """An index in which `documents` take the place of all from number `place` on; this one stays."""
        other = LexicalIndex()
        other._documents = [*self._documents[:place], *documents]
        other._lengths = np.array([len(terms) for terms in other._documents], dtype=np.float64)
        other._postings = dict(self._postings)
        for term in {term for gone in self._documents[place:] for term in gone}:
            places, counts = self._postings[term]
            kept = int(np.searchsorted(places, place))
            other._postings[term] = (places[:kept], counts[:kept])
        for term, added in _counted(documents, start=place).items():
            before = other._postings.get(term)
            other._postings[term] = added if before is None else _joined(before, added)
        return other

    def scores(self, query: Terms) -> NDArray[np.float64]:
        """Score per document, shape (n,); 0 where no term is shared. A repeated term counts once."""
        size = len(self._documents)
        total = np.zeros(size, dtype=np.float32)
        found = [self._postings[term] for term in dict.fromkeys(query) if term in self._postings]
        for places, counts in found:
            if len(places):
                idf = np.float32(math.log(1 + (size - len(places) + 0.5) / (len(places) + 0.5)))
                against = K1 * ((1 - B) + B * self._lengths[places] / self._lengths.mean())
                total[places] += (idf * (counts / (against + counts))).astype(np.float32)
        return total.astype(np.float64)


def _counted(documents: Sequence[Terms], *, start: int) -> dict[str, tuple[Places, Counts]]:
    """Term → which documents have it, counted from `start`, and how often each does."""
    found: defaultdict[str, list[tuple[int, int]]] = defaultdict(list)
    for place, terms in enumerate(documents, start=start):
        for term, count in Counter(terms).items():
            found[term].append((place, count))
    return {term: _arrays(pairs) for term, pairs in found.items()}


def _arrays(pairs: Sequence[tuple[int, int]]) -> tuple[Places, Counts]:
    places, counts = zip(*pairs, strict=True)
    return np.array(places, dtype=np.int64), np.array(counts, dtype=np.float32)


def _joined(first: tuple[Places, Counts], then: tuple[Places, Counts]) -> tuple[Places, Counts]:
    return np.concatenate([first[0], then[0]]), np.concatenate([first[1], then[1]])
