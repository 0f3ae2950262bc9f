from __future__ import annotations

import polars as pl
import pytest

from analysis.comparisons import McNemar, differences, discordance, holm, mcnemar

NAN = float("nan")


def test_mcnemar_counts_discordant_pairs_and_is_exact():
    ours = [1, 1, 1, 1, 1, 0, 1, 0]
    theirs = [0, 0, 0, 0, 0, 1, 1, 0]
    # Five against one: 2 · (C(6,0) + C(6,1)) / 2⁶ = 14/64.
    assert mcnemar(ours, theirs) == McNemar(5, 1, 0, pytest.approx(14 / 64))


def test_runs_vote_and_a_draw_is_left_out():
    # Two thirds is right, one third is not, one half is neither; a missing score makes no pair.
    assert mcnemar([2 / 3, 0.5, 1.0, NAN], [1 / 3, 0.0, 0.5, 1.0]) == McNemar(1, 0, 2, 1.0)


@pytest.mark.parametrize(
    ("ours", "theirs", "flag"),
    [([], [], "no_pairs"), ([NAN], [1], "no_pairs"), ([1, 0], [1, 0], "concordant")],
)
def test_where_nothing_differs_there_is_no_p(ours, theirs, flag):
    test = mcnemar(ours, theirs)
    assert (test.p, test.flag) == (None, flag)


def test_columns_of_different_length_are_refused():
    with pytest.raises(ValueError, match="against"):
        mcnemar([1], [1, 0])


def test_holm_multiplies_the_smallest_by_all_and_never_falls():
    # Sorted: 0.01 · 3, 0.02 · 2, 0.03 · 1, the last raised to the one before.
    assert holm([0.03, None, 0.01, 0.02]) == pytest.approx([0.04, None, 0.03, 0.04], nan_ok=True)
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


def test_conversations_a_and_b_give_the_interval_of_the_paper_by_cluster():
    # (base, new) is (0,1), (0,1), (0,0), (1,1) in A and (1,0) in B.
    pairs = pl.DataFrame(
        {
            "method": ["base"] * 5,
            "category": ["S-hop"] * 5,
            "conversation_id": list("AAAAB"),
            "question_id": list("12345"),
            "theirs": [0.0, 0.0, 0.0, 1.0, 1.0],
            "ours": [1.0, 1.0, 0.0, 1.0, 0.0],
        }
    )
    (row,) = differences(pairs, stratified=False).to_dicts()
    assert [row["low"], row["high"]] == [-1.0, 0.5]
    assert row["point"] == pytest.approx(0.2)
    (test,) = discordance(pairs).rows()
    assert test == ("base", 2, 1, 0, 1.0, 1.0)
