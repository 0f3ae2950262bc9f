"""SNTD by hand; blocked search against the whole matrix; the random baseline, expected and drawn."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.diagnostics.neighbours import (
    drawn_sntd,
    random_sntd,
    sntd,
    sntd_at,
    top_neighbours,
)


def by_angle(*degrees):
    radians = np.radians(degrees)
    return np.stack([np.cos(radians), np.sin(radians)], axis=1).astype(np.float32)


def dense(vectors, k):
    """The definition, on the whole matrix: most similar first, equally similar ones by position."""
    rows = vectors.astype(np.float64)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    similar = np.round(np.einsum("id,jd->ij", rows, rows), 6)
    return [
        sorted((j for j in range(len(rows)) if j != i), key=lambda j: (-similar[i, j], j))[:k]
        for i in range(len(rows))
    ]


def test_sntd_by_hand():
    # Nearest by angle: 0 → 2 (2 apart), 1 → 3 (2), 2 → 0 (2), 3 → 1 (2); second: 0 → 3, 1 → 2, 2 → 3, 3 → 2.
    vectors = by_angle(0, 90, 10, 75)
    assert top_neighbours(vectors, 2).indices.tolist() == [[2, 3], [3, 2], [0, 3], [1, 2]]
    measured = sntd_at(vectors, (1, 2))
    assert measured[1].value == pytest.approx(2 / 3)
    assert measured[2].value == pytest.approx((5 + 3 + 3 + 3) / 2 / 4 / 3)


def test_more_neighbours_than_there_are_means_all_of_them():
    vectors = by_angle(0, 90, 10, 75)
    everyone = (6 + 4 + 4 + 6) / 3 / 4 / 3
    for k in (3, 4, 8):
        assert sntd_at(vectors, (k,))[k].value == pytest.approx(everyone) == random_sntd(4)


def test_two_segments_are_as_far_apart_as_can_be():
    assert sntd_at(by_angle(0, 50))[8].value == 1.0


@pytest.mark.parametrize(
    ("vectors", "reason"),
    [
        (np.zeros((0, 0), dtype=np.float32), "no_segments"),
        (by_angle(0), "one_segment"),
        (np.zeros((2, 3), dtype=np.float32), "zero_vector"),
        (np.full((2, 3), np.inf, dtype=np.float32), "not_finite"),
    ],
)
def test_what_cannot_be_measured_has_a_reason(vectors, reason):
    assert {(m.value, m.reason) for m in sntd_at(vectors).values()} == {(None, reason)}


def test_equal_segments_come_by_position():
    assert top_neighbours(by_angle(*[30] * 5), 2).indices.tolist() == [[1, 2], [0, 2], [0, 1], [0, 1], [0, 1]]


@given(
    directions=st.lists(st.integers(0, 11), min_size=2, max_size=40),
    k=st.integers(1, 45),
    rows=st.integers(1, 7),
)
def test_blocks_change_nothing(directions, k, rows):
    """Twelve directions for up to forty segments: duplicates and ties are the rule."""
    vectors = by_angle(*(30 * n for n in directions))
    expected = dense(vectors, k)
    for block_bytes in (rows * 8 * len(vectors), 2**30):
        assert top_neighbours(vectors, k, block_bytes=block_bytes).indices.tolist() == expected


@pytest.mark.parametrize("block_rows", [1, 64, 83, 500])
def test_blocks_change_nothing_in_many_dimensions(block_rows):
    rng = np.random.default_rng(1)
    distinct = rng.normal(size=(180, 96)).astype(np.float32)
    vectors = distinct[rng.integers(0, 180, size=500)]  # most of them more than once
    found = top_neighbours(vectors, 8, block_bytes=block_rows * 8 * 500)
    assert found.indices.tolist() == dense(vectors, 8)
    assert (np.diff(found.similarity, axis=1) <= 0).all()


def test_similarities_are_those_of_the_neighbours():
    found = top_neighbours(by_angle(0, 60, 180), 2)
    assert found.similarity.tolist() == [[0.5, -1.0], [0.5, -0.5], [-0.5, -1.0]]


def test_the_expected_baseline_by_hand():
    assert random_sntd(2) == 1.0
    # Three segments: the ends have others at 1/2 and 1, the middle one twice 1/2.
    assert random_sntd(3) == pytest.approx((0.75 + 0.5 + 0.75) / 3)
    assert random_sntd(10**9) == pytest.approx(1 / 3)


@pytest.mark.parametrize("size", [2, 3, 9, 10, 300])
@pytest.mark.parametrize("k", [1, 2, 4, 8])
def test_drawing_agrees_with_the_expectation(size, k):
    mean, error = drawn_sntd(size, k, seed=42, rounds=200)
    assert abs(mean - random_sntd(size)) <= 4 * error + 1e-12
    assert error < 0.03


def test_all_others_are_drawn_where_there_are_no_more():
    mean, error = drawn_sntd(5, 8, seed=42)
    assert (mean, error) == (pytest.approx(random_sntd(5)), pytest.approx(0.0))


def test_a_seed_decides_the_draws():
    assert drawn_sntd(40, 4, seed=(42, 1)) == drawn_sntd(40, 4, seed=(42, 1))
    assert drawn_sntd(40, 4, seed=(42, 1)) != drawn_sntd(40, 4, seed=(42, 2))


def test_sntd_takes_the_nearest_of_those_found():
    indices = np.array([[1, 2], [0, 2], [1, 0]])
    assert sntd(indices, 1) == pytest.approx(0.5)
    assert sntd(indices, 2) == pytest.approx((1.5 + 1 + 1.5) / 6)
