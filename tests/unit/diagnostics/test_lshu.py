"""LSHUR and the LSHU subset, by hand."""

from dataclasses import asdict

from memsif_ray.diagnostics.lshu import (
    EvidenceScore,
    Rate,
    categories,
    pair_rate,
    question_rate,
    score_counts,
    subset,
)
from memsif_ray.types import Category

CATEGORY = {"a": Category.SINGLE_HOP, "b": Category.MULTI_HOP, "c": Category.TEMPORAL}


def scores(*rows):
    """Of (question, message, salience, utility)."""
    return [
        EvidenceScore(
            "c1", q, CATEGORY.get(q, Category.KNOWLEDGE), m, s, "" if s else "lost", u, "" if u else "lost"
        )
        for q, m, s, u in rows
    ]


def test_rates_of_pairs_and_questions():
    found = scores(
        ("a", "m1", 2, 3),  # low and critical
        ("a", "m2", 3, 3),  # critical
        ("b", "m1", 2, 2),  # low, not critical
        ("b", "m3", 1, 3),  # low and critical
        ("c", "m2", 3, 3),  # critical
        ("d", "m4", 1, 1),
    )
    assert pair_rate(found) == Rate(hits=2, of=4, missing=0)
    assert question_rate(found) == Rate(hits=2, of=3, missing=0)
    assert pair_rate(found).share.value == 0.5
    assert subset(found) == {"a": Category.SINGLE_HOP, "b": Category.MULTI_HOP}
    assert list(categories(subset(found)).values()) == [1, 1, 0, 0]


def test_the_papers_rates():
    assert round(100 * Rate(430, 1035, 0).share.value, 2) == 41.55
    assert round(100 * Rate(424, 970, 0).share.value, 2) == 43.71
    assert round(100 * Rate(424, 1540, 0).share.value, 2) == 27.53


def test_a_missing_score_leaves_undecided_only_what_depends_on_it():
    found = scores(
        ("a", "m1", None, 3),  # critical, unknown whether low: undecided
        ("b", "m2", None, 2),  # not critical, whatever its salience
        ("c", "m3", 1, None),  # unknown whether critical: undecided
        ("d", "m4", 1, 3),
        ("d", "m1", None, 3),  # undecided, but its question is in the subset already
    )
    assert pair_rate(found) == Rate(hits=1, of=1, missing=3)
    assert question_rate(found) == Rate(hits=1, of=1, missing=2)
    assert list(subset(found)) == ["d"]


def test_salience_counts_each_utterance_once():
    found = scores(("a", "m1", 2, 3), ("b", "m1", 2, 1), ("c", "m2", None, None))
    by_salience, by_utility = score_counts(found)
    assert (by_salience.levels, by_salience.reasons) == ((0, 1, 0), {"lost": 1})
    assert (by_utility.levels, by_utility.reasons) == ((1, 0, 1), {"lost": 1})
    assert asdict(by_utility)["reasons"] == {"lost": 1}


def test_where_nothing_is_critical_there_is_a_reason_and_no_rate():
    for found in ([], scores(("a", "m1", 1, 2))):
        assert pair_rate(found) == question_rate(found) == Rate(0, 0, 0)
        assert pair_rate(found).share.reason == "nothing_critical"
        assert subset(found) == {}
