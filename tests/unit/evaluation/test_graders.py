"""Graders that need no model."""

import pytest

from memsif_ray.evaluation.graders import accepts_by_f1, accepts_by_rules
from memsif_ray.types import Category, Gold

HOP = Category.SINGLE_HOP


@pytest.mark.parametrize(
    ("threshold", "accepted"), [(0.5, True), (0.66, True), (0.67, False), (0.0, True), (1.0, False)]
)
def test_f1_is_compared_with_a_threshold(threshold, accepted):
    # "red kite" against "a kite": one token shared of two and one, F1 = 2/3.
    assert accepts_by_f1("red kite", Gold("q", "a kite"), HOP, threshold=threshold) is accepted


def test_there_is_no_f1_without_a_reference():
    assert accepts_by_f1("kite", Gold("q", " "), HOP) is None


def test_a_wrong_date_is_refused_though_it_shares_most_words():
    gold = Gold("q", "7 May 2023")
    assert accepts_by_f1("8 May 2023", gold, Category.TEMPORAL) is True
    assert accepts_by_rules("8 May 2023", gold, Category.TEMPORAL) is False
    assert accepts_by_rules("It was on May 7th, 2023.", gold, Category.TEMPORAL) is True


def test_an_abstention_is_right_where_nothing_can_be_known():
    gold = Gold("q", "", abstain=True)
    assert accepts_by_rules("That was never mentioned.", gold, Category.ADVERSARIAL) is True
    assert accepts_by_rules("A kite.", gold, Category.ADVERSARIAL) is False


def test_any_other_answer_is_a_matter_of_f1():
    assert accepts_by_rules("a red kite", Gold("q", "red kite"), HOP) is True
    assert accepts_by_rules("a boat", Gold("q", "red kite"), HOP) is False
