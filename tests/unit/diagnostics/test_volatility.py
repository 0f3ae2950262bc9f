"""ASV and pattern scores of vectors whose cosines are known."""

import numpy as np
import pytest

from memsif_ray.diagnostics.volatility import adjacent_pairs, asv

E1, E2 = np.eye(2, dtype=np.float32)
SLANTED = np.array([0.6, 0.8], dtype=np.float32)


def stacked(*rows):
    return np.array(rows, dtype=np.float32)


def test_asv_by_hand():
    # Similarities 0.6, 0.8, 0: steps 0.2 and 0.8, whose mean is 0.5.
    assert asv(stacked(E1, SLANTED, E2, E1)).value == pytest.approx(0.5, abs=1e-7)


def test_length_of_a_vector_does_not_matter():
    assert asv(stacked(3 * E1, SLANTED, E2, 0.1 * E1)).value == pytest.approx(0.5, abs=1e-7)


def test_a_conversation_that_never_turns_has_no_volatility():
    assert asv(stacked(*[SLANTED] * 7)).value == 0.0


@pytest.mark.parametrize(
    ("rows", "reason"),
    [
        ((), "no_segments"),
        ((E1,), "one_segment"),
        ((E1, E2), "two_segments"),
        ((E1, E2, 0 * E1), "zero_vector"),
        ((E1, E2, np.nan * E1), "not_finite"),
    ],
)
def test_what_cannot_be_measured_has_a_reason(rows, reason):
    measured = asv(np.array(rows, dtype=np.float32).reshape(len(rows), 2))
    assert (measured.value, measured.reason) == (None, reason)


def test_pattern_scores_by_hand():
    pairs = adjacent_pairs(stacked(E1, SLANTED, E2, E1))
    assert pairs.similarity == pytest.approx([0.6, 0.8, 0.0], abs=1e-7)
    assert pairs.volatility == pytest.approx([0.2, 0.8, 0.8], abs=1e-7)  # the ends have one step only
    # z(1 - a): mean 8/15, deviation sqrt(26/225); z(Δ): mean 0.6, deviation sqrt(0.08).
    distance, step = (26 / 225) ** 0.5, 0.08**0.5
    assert pairs.score == pytest.approx(
        [
            (0.4 - 8 / 15) / distance + (0.2 - 0.6) / step,
            (0.2 - 8 / 15) / distance + (0.8 - 0.6) / step,
            (1.0 - 8 / 15) / distance + (0.8 - 0.6) / step,
        ],
        abs=1e-6,
    )


def test_two_segments_make_one_pair_without_a_step():
    pairs = adjacent_pairs(stacked(E1, SLANTED))
    assert pairs.similarity == pytest.approx([0.6], abs=1e-7)
    assert (pairs.volatility.tolist(), pairs.score.tolist()) == ([0.0], [0.0])


def test_equal_segments_score_zero():
    assert adjacent_pairs(stacked(*[SLANTED] * 5)).score.tolist() == [0.0] * 4


def test_unusable_vectors_make_no_pairs():
    assert len(adjacent_pairs(stacked(E1, 0 * E1, E2)).score) == 0
    assert len(adjacent_pairs(stacked(E1)).score) == 0
