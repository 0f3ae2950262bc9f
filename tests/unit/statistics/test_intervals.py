from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from memsif_ray.statistics.intervals import RESAMPLES, SEED, cluster_bootstrap, stratified_bootstrap, wilson

NAN = float("nan")
A = [1.0, 1.0, 0.0, 0.0]  # new - base of (0,1), (0,1), (0,0), (1,1)


def test_whole_conversations_are_resampled():
    interval = cluster_bootstrap([*A, -1.0], "AAAAB", seed=SEED)
    assert interval.point == pytest.approx(0.2)
    assert (interval.low, interval.high) == (-1.0, 0.5)  # by question it would be (-0.4, 0.8)
    assert (interval.n, interval.flag, interval.skipped) == (5, "", 0)


def test_only_means_that_some_draw_of_conversations_has_can_be_ends():
    for level in (0.1, 0.3, 0.5, 0.7, 0.9):
        interval = cluster_bootstrap([*A, -1.0], "AAAAB", seed=SEED, level=level)
        for end in (interval.low, interval.high):
            assert any(math.isclose(end, value) for value in (-1.0, 0.2, 0.5))


def test_one_conversation_has_no_interval():
    interval = cluster_bootstrap(A, "AAAA", seed=SEED)
    assert (interval.point, interval.low, interval.high, interval.flag) == (0.5, None, None, "one_cluster")


@pytest.mark.parametrize("bootstrap", [cluster_bootstrap, stratified_bootstrap])
def test_nothing_has_no_point(bootstrap):
    for interval in (bootstrap([], [], seed=SEED), bootstrap([NAN], ["A"], seed=SEED)):
        assert (interval.n, interval.point, interval.low, interval.flag) == (0, None, None, "empty")


@pytest.mark.parametrize("bootstrap", [cluster_bootstrap, stratified_bootstrap])
def test_equal_methods_are_flagged_degenerate(bootstrap):
    interval = bootstrap([0.0, 0.0, 0.0], "AAB", seed=SEED)
    assert (interval.point, interval.low, interval.high, interval.flag) == (0.0, None, None, "degenerate")


def test_one_question_within_a_category_is_no_single_conversation():
    interval = stratified_bootstrap([1.0, math.nan], "AB", seed=SEED)
    assert (interval.n, interval.point, interval.low, interval.high) == (1, 1.0, None, None)
    assert interval.flag == "one_question"


def test_a_conversation_without_the_category_is_drawn_but_gives_no_nan():
    interval = cluster_bootstrap([1.0, 0.0, NAN], ["26", "41", "30"], seed=SEED)
    assert (interval.low, interval.high) == (0.0, 1.0)
    # All three draws hit the conversation without rows with probability 1/27.
    assert interval.skipped == pytest.approx(RESAMPLES / 27, abs=80)
    assert interval.n == 2


def test_rows_of_one_conversation_only_are_one_cluster():
    assert cluster_bootstrap([1.0, 0.0, NAN], ["26", "26", "30"], seed=SEED).flag == "one_cluster"


def test_strata_keep_their_size():
    # Within X only 1, within Y 0 or 1 twice: the mean lies in {1/3, 2/3, 1}.
    interval = stratified_bootstrap([1.0, 0.0, 1.0], "XYY", seed=SEED)
    assert (interval.low, interval.high) == (pytest.approx(1 / 3), 1.0)


def test_the_cluster_distribution_matches_full_enumeration():
    clusters = {"A": [1.0, 0.0], "B": [-1.0], "C": [0.5, 0.5, 1.0]}
    means = [
        float(np.mean([v for name in draw for v in clusters[name]]))
        for draw in itertools.product("ABC", repeat=3)
    ]
    values = [v for name in clusters for v in clusters[name]]
    names = [name for name in clusters for _ in clusters[name]]
    for level in (0.5, 0.8):
        interval = cluster_bootstrap(values, names, seed=SEED, level=level)
        exact = np.quantile(means, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
        assert (interval.low, interval.high) == pytest.approx(tuple(exact), abs=1e-9)


_ROWS = st.lists(st.tuples(st.sampled_from([-1.0, 0.0, 0.5, 1.0, NAN]), st.sampled_from("ABCD")), max_size=30)


@settings(deadline=None)
@given(_ROWS, st.randoms(use_true_random=False))
def test_intervals_are_reproducible_ordered_and_never_nan(rows, random):
    values, groups = [v for v, _ in rows], [g for _, g in rows]
    interval = cluster_bootstrap(values, groups, seed=SEED, resamples=500)
    shuffled = rows[:]
    random.shuffle(shuffled)
    again = cluster_bootstrap([v for v, _ in shuffled], [g for _, g in shuffled], seed=SEED, resamples=500)
    assert again.flag == interval.flag and again.skipped == interval.skipped
    if interval.low is not None:
        assert (again.low, again.high) == pytest.approx((interval.low, interval.high))
        assert -1 <= interval.low <= interval.high <= 1


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match="group labels"):
        cluster_bootstrap([1.0], ["A", "B"], seed=SEED)
    with pytest.raises(ValueError, match="infinite"):
        stratified_bootstrap([math.inf], ["A"], seed=SEED)
    with pytest.raises(ValueError, match="successes"):
        wilson(3, 2)


def test_wilson_is_sensible_at_the_ends():
    assert wilson(0, 7) == pytest.approx((0.0, 0.3543), abs=5e-5)
    assert wilson(7, 7) == pytest.approx((0.6457, 1.0), abs=5e-5)
    assert wilson(0, 0) is None
