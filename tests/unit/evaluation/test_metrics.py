from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.evaluation.graders import accepts_by_rules
from memsif_ray.evaluation.metrics import (
    CalendarDate,
    dates,
    evidence_recall,
    locomo_score,
    multi_answer_f1,
    recall_at_k,
    same_date,
    token_f1,
    tokens,
)
from memsif_ray.types import Category, Gold


def test_tokens_are_normalised_and_stemmed_as_locomo_does():
    assert tokens("The dogs, and a CAT-walk: running!") == ["dog", "catwalk", "run"]
    assert tokens("The dogs, and running", stem=False) == ["dogs", "running"]


def test_stems_are_those_of_nltk_not_of_the_original_porter_algorithm():
    assert tokens("one day she is dying to enjoy ice") == [
        "one",
        "day",
        "she",
        "is",
        "die",
        "to",
        "enjoy",
        "ice",
    ]


def test_f1_by_hand():
    # 2 shared tokens of 3 predicted and 2 wanted: precision 2/3, recall 1, F1 0.8.
    assert token_f1("7 May gladly", "May 7") == pytest.approx(0.8)
    assert token_f1("", "May") == token_f1("the", "a") == 0.0


def test_multi_hop_takes_the_best_part_for_each_gold_answer():
    assert multi_answer_f1("chess, rowing", "rowing, chess") == 1.0
    assert multi_answer_f1("rowing", "rowing, chess") == 0.5


@pytest.mark.parametrize(
    ("category", "gold", "prediction", "score"),
    [
        (Category.KNOWLEDGE, "Yes; she likes boats", "yes", 1.0),
        (Category.SINGLE_HOP, "Yes; boats", "yes", pytest.approx(2 / 3)),
        (Category.MULTI_HOP, "rowing, chess", "rowing", 0.5),
        (Category.TEMPORAL, "2022", "In 2022", pytest.approx(2 / 3)),
        (Category.SINGLE_HOP, "2022", None, 0.0),
        (Category.SINGLE_HOP, " ", "2022", None),
    ],
)
def test_locomo_score_by_category(category, gold, prediction, score):
    assert locomo_score(prediction, Gold("q", gold), category) == score


@pytest.mark.parametrize(
    ("prediction", "score"),
    [("Not mentioned in the conversation.", 1.0), ("No information available", 1.0), ("a sea opera", 0.0)],
)
def test_a_question_to_abstain_from_scores_by_locomos_own_phrases(prediction, score):
    gold = Gold("q", "", trap="a sea opera", abstain=True)
    assert locomo_score(prediction, gold, Category.ADVERSARIAL) == score


def test_an_adversarial_question_with_its_own_answer_is_scored_against_it():
    assert locomo_score("No", Gold("q", "No", trap="Yes"), Category.ADVERSARIAL) == 1.0


@given(st.text(), st.text())
def test_f1_is_symmetric_bounded_and_one_for_itself(left, right):
    score = token_f1(left, right)
    assert 0.0 <= score <= 1.0
    assert math.isclose(score, token_f1(right, left))
    assert token_f1(left, left) == (1.0 if tokens(left) else 0.0)


YEAR_FIRST = ["2023-05-07", "2023/5/7.", "2023.05.07", "2023-05-07T10:00"]


@pytest.mark.parametrize("text", ["on 7 May 2023", "May 7th, 2023.", "7 of May, 2023", *YEAR_FIRST])
def test_a_day_is_the_same_however_it_is_written(text):
    assert dates(text) == {CalendarDate(2023, 5, 7)}
    assert same_date(text, "7 May 2023") is True


@pytest.mark.parametrize(
    ("prediction", "gold", "same"),
    [
        ("June 2023", "7 June 2023", False),
        ("In March, 2023", "March 2023", True),
        ("either 7 May 2023 or 8 May 2023", "7 May 2023", False),
        ("no idea", "2022", False),
        ("9 June 2023", "The week before 9 June 2023", None),
        ("2022", "a red boat", None),
    ],
)
def test_date_match_is_exact_and_undefined_without_a_bare_gold_date(prediction, gold, same):
    assert same_date(prediction, gold) is same


@pytest.mark.parametrize("text", ["decided 2022", "the mayor, 2022", "a novel 2022", "marching 2022"])
def test_a_word_that_begins_like_a_month_is_none(text):
    assert dates(text) == {CalendarDate(2022)}


@pytest.mark.parametrize("text", ["September 2022", "Sept. 2022", "Sep, 2022", "the SEPT 2022"])
def test_a_month_may_be_abbreviated(text):
    assert dates(text) == {CalendarDate(2022, 9)}


@pytest.mark.parametrize(
    "text", ["05/07/2023", "on 5.7.23", "7-5-2023", "25/12/2023", "5/2023", "05.2023", "2023-05"]
)
def test_a_date_in_figures_alone_is_neither_right_nor_wrong(text):
    assert same_date(text, "7 May 2023") is None
    assert accepts_by_rules(f"7 May 2023, {text}", Gold("q", "7 May 2023"), Category.TEMPORAL)  # by its F1


def test_recall_without_gold_evidence_is_unscored():
    assert evidence_recall([], ["D1:1"]) is None
    assert recall_at_k([], ["D1:1"], k=5) is None


def test_recall_counts_distinct_gold_messages():
    assert evidence_recall(["D1:1", "D1:1", "D2:4"], {"D1:1", "D9:9"}) == 0.5
    assert recall_at_k(["D1:1", "D2:4"], ["D9:9", "D1:1", "D2:4"], k=2) == 0.5


@given(
    st.sets(st.integers(0, 20)).map(lambda ids: sorted(map(str, ids))),
    st.permutations(list(map(str, range(21)))),
)
def test_recall_never_falls_with_k_and_ends_at_one(gold, ranked):
    recalls = [recall_at_k(gold, ranked, k=k) for k in range(22)]
    if not gold:
        assert set(recalls) == {None}
    else:
        assert recalls == sorted(recalls)
        assert recalls[-1] == 1.0
