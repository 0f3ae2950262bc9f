"""Agreement by hand."""

import pytest

from memsif_ray.evaluation.agreement import accepted_by_most, agreement, cohen_kappa, kappa_of_cells, majority
from memsif_ray.types import Outcome

R, W, I = Outcome.RIGHT, Outcome.WRONG, Outcome.INVALID  # noqa: E741


@pytest.mark.parametrize(
    ("votes", "outcome"),
    [
        ([R], R),
        ([I], I),
        ([R, W, R], R),
        ([W, W, I], W),
        ([R, W, I], I),  # nobody has more than half
        ([R, I, I], I),  # one vote of three is no majority
        ([R, W], I),  # a tie
        ([R, R, W, W, R], R),
        ([], I),
    ],
)
def test_more_than_half_of_all_votes_decide(votes, outcome):
    assert majority(votes) is outcome


@pytest.mark.parametrize(
    ("votes", "accepted"), [([True, True, False], True), ([False, False, True], False), ([True, False], None)]
)
def test_votes_without_unreadable_ones(votes, accepted):
    assert accepted_by_most(votes) is accepted


def test_kappa_by_hand():
    # Cohen's table: both accept 20, only the first 5, only the second 10, neither 15.
    # p_o = 35/50 = 0.7; p_e = 0.5 * 0.6 + 0.5 * 0.4 = 0.5; kappa = 0.2 / 0.5 = 0.4.
    pairs = [(True, True)] * 20 + [(True, False)] * 5 + [(False, True)] * 10 + [(False, False)] * 15
    assert agreement(pairs) == 0.7
    assert cohen_kappa(pairs) == pytest.approx(0.4)
    assert kappa_of_cells(20, 5, 10, 15) == pytest.approx(0.4)


def test_kappa_is_one_for_equal_and_minus_one_for_opposite_labels():
    assert cohen_kappa([(True, True), (False, False)]) == 1.0
    assert cohen_kappa([(True, False), (False, True)]) == -1.0


@pytest.mark.parametrize("pairs", [[], [(True, True)] * 4, [(False, False)] * 4])
def test_kappa_is_undefined_where_chance_explains_everything(pairs):
    assert cohen_kappa(pairs) is None
