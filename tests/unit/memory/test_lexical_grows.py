"""An index that grew is the index that would have been made anew, and both are bm25s' to the last bit."""

import bm25s
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.memory.lexical import K1, B, LexicalIndex

WORD = st.sampled_from(["boat", "harbour", "tea", "kite", "red", "amy", "utrecht", "piano"])
DOCUMENTS = st.lists(st.lists(WORD, max_size=9), max_size=12)
QUERY = st.lists(WORD, max_size=5)


@given(DOCUMENTS, DOCUMENTS, st.integers(0, 12), QUERY)
def test_growing_and_beginning_anew_score_the_same(documents, more, place, query):
    place = min(place, len(documents))
    grown = LexicalIndex(documents).followed_by(place, more)
    anew = LexicalIndex([*documents[:place], *more])
    np.testing.assert_array_equal(grown.scores(query), anew.scores(query))


@given(DOCUMENTS, DOCUMENTS, QUERY)
def test_what_was_scored_before_growth_stays(documents, more, query):
    index = LexicalIndex(documents)
    before = index.scores(query)
    index.followed_by(len(documents) // 2, more)
    np.testing.assert_array_equal(index.scores(query), before)


@given(DOCUMENTS.filter(any), QUERY)
def test_scores_are_those_of_the_library(documents, query):
    library = bm25s.BM25(k1=K1, b=B)
    library.index([list(terms) for terms in documents], show_progress=False)
    asked = list(dict.fromkeys(query))
    expected = library.get_scores(asked) if asked else np.zeros(len(documents))
    np.testing.assert_array_equal(LexicalIndex(documents).scores(query), expected)


@pytest.mark.parametrize("documents", [[], [[]], [[], []]])
def test_documents_without_words_score_nothing(documents):
    assert LexicalIndex(documents).scores(["tea"]).tolist() == [0.0] * len(documents)
