"""Two graders compared, by hand."""

import pytest

from analysis.agreement import Compared, kappa_interval, measure

T, F = True, False


def test_the_bootstrap_of_kappa_resamples_whole_clusters():
    # Cluster A agrees twice (kappa 1), cluster B disagrees twice (-1), both together cancel out (0): a
    # resample is AA, AB, BA or BB.
    pairs = [(T, T), (F, F), (T, F), (F, T)]
    found = kappa_interval(pairs, ["A", "A", "B", "B"], seed=1)
    assert (found.n, found.point, found.low, found.high, found.flag) == (4, 0.0, -1.0, 1.0, "")


@pytest.mark.parametrize(
    ("pairs", "clusters", "flag", "point"),
    [
        ([], [], "empty", None),
        ([(T, T), (T, T)], "ab", "degenerate", None),  # chance explains everything
        ([(T, T), (F, F)], "aa", "one_cluster", 1.0),
        ([(T, T), (F, F)], "ab", "degenerate", 1.0),  # aa and bb have no kappa, ab has 1
    ],
)
def test_an_undefined_interval_is_none_with_a_reason(pairs, clusters, flag, point):
    found = kappa_interval(pairs, clusters, seed=1)
    assert (found.flag, found.point, found.low, found.high) == (flag, point, None, None)
    assert (found.skipped > 0) == (flag == "degenerate" and point is not None)


def test_a_grader_measured_by_kind():
    compared = [
        Compared("wrong", "q1", T, F),
        Compared("wrong", "q2", F, F),
        Compared("wrong", "q3", None, F),
        Compared("good", "q1", T, T),
        Compared("good", "q2", T, None),
    ]
    wrong, good, every = measure(compared)
    assert (wrong.kind, wrong.answers, wrong.graded, wrong.accepted, wrong.theirs) == (
        "wrong",
        3,
        2,
        0.5,
        0.0,
    )
    assert wrong.agreement == 0.5
    # Wilson, 1 of 2: (0.5 + z²/4 ± z·sqrt(0.25/2 + z²/16)) / (1 + z²/2) with z = 1.959964
    assert wrong.accepted_95 == pytest.approx((0.0945, 0.9055), abs=1e-4)
    assert (good.graded, good.accepted, good.agreement, good.theirs) == (2, 1.0, 1.0, 1.0)
    assert (every.kind, every.answers, every.graded, every.agreement) == ("all", 5, 4, pytest.approx(2 / 3))
    # Both accept 1, only ours 1, neither 1: p_o = 2/3, p_e = 2/3·1/3 + 1/3·2/3 = 4/9, kappa = 2/5.
    assert every.kappa.point == pytest.approx(0.4)


def test_answers_of_one_conversation_succeed_and_fail_together():
    compared = [Compared("a", cluster, T, T) for cluster in "xxxx"]
    compared += [Compared("a", cluster, F, F) for cluster in "yyyy"]
    (row,) = measure(compared)
    # Two conversations, one all right and one all wrong: a resample is 0, a half or 1. Of eight independent
    # answers Wilson would say [0.215, 0.785].
    assert row.accepted == 0.5 and row.accepted_95 == (0.0, 1.0)
    assert (row.agreement, row.agreement_95) == (1.0, None)  # the same in every resample: no interval


def test_one_kind_has_no_row_for_all():
    assert [row.kind for row in measure([Compared("a", "q", T, T)])] == ["a"]
    assert measure([]) == []
