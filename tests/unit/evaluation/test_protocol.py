from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.evaluation.protocol import question_order
from memsif_ray.types import Category, Question


def _questions(conversation: str, count: int) -> list[Question]:
    return [
        Question(f"{conversation}-q{n}", conversation, n, f"question {n}?", Category.SINGLE_HOP)
        for n in range(count)
    ]


def test_the_order_is_fixed_for_a_seed():
    indices = [q.index for q in question_order(_questions("26", 8), 2026)]
    assert indices == [0, 3, 4, 2, 5, 7, 1, 6]
    assert [q.index for q in question_order(_questions("26", 8), 2027)] != indices


@given(st.integers(0, 2**64), st.integers(0, 30), st.sets(st.integers(0, 29)))
def test_it_is_a_permutation_that_dropped_questions_do_not_disturb(seed, count, dropped):
    questions = _questions("26", count)
    order = question_order(questions, seed)
    assert sorted(order, key=lambda q: q.index) == questions
    kept = [q for q in questions if q.index not in dropped]
    assert question_order(kept, seed) == tuple(q for q in order if q.index not in dropped)


@given(st.integers(0, 2**32), st.permutations(range(12)))
def test_it_does_not_depend_on_the_order_given(seed, shuffled):
    questions = _questions("26", 12)
    assert question_order([questions[n] for n in shuffled], seed) == question_order(questions, seed)


def test_conversations_stay_apart_and_have_their_own_order():
    a, b = _questions("26", 20), _questions("30", 20)
    mixed = question_order([q for pair in zip(a, b, strict=True) for q in pair], 2026)
    assert mixed == question_order(a, 2026) + question_order(b, 2026)
    assert [q.index for q in mixed[:20]] != [q.index for q in mixed[20:]]
