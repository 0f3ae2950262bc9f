import warnings

import pytest

from memsif_ray.memory.lexical import LexicalIndex, lexical_terms


def scores(documents, query):
    return LexicalIndex([lexical_terms(d) for d in documents]).scores(lexical_terms(query)).tolist()


@pytest.mark.parametrize("documents", [[], [""], ["", "the of and"]])
def test_documents_without_words_score_zero_quietly(documents):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert scores(documents, "parrot") == [0.0] * len(documents)


@pytest.mark.parametrize("query", ["", "the of and", "zebra"])
def test_a_query_that_shares_nothing_scores_zero(query):
    assert scores(["a red parrot", "", "a blue tent"], query) == [0.0, 0.0, 0.0]


def test_rare_words_count_more_and_repeated_ones_once():
    documents = ["red parrot", "red tent", "red boat"]
    once, twice = scores(documents, "red parrot"), scores(documents, "red red parrot parrot")
    assert once == twice
    assert once[0] > once[1] == once[2] > 0
