import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.memory.matching import Phi, Pool, coherence, jaccard, normalised


def test_phi_weighs_similarity_and_overlap_as_equation_1_says():
    assert Phi(0.8, "clip").score(0.5, 0.25) == pytest.approx(0.8 * 0.5 + 0.2 * 0.25)
    assert Phi(0.8, "affine").score(0.5, 0.25) == pytest.approx(0.8 * 0.75 + 0.2 * 0.25)
    assert Phi(0.8, "clip").score(-0.5, 0.0) == 0.0


def test_two_empty_entity_sets_share_nothing():
    assert jaccard(set(), set()) == 0.0
    assert jaccard({"a", "b"}, {"b", "c"}) == pytest.approx(1 / 3)


@given(st.floats(-1.0001, 1.0001))
def test_normalised_cosines_stay_in_the_unit_interval(cosine):
    for how in ("clip", "affine"):
        assert 0.0 <= normalised(cosine, how) <= 1.0


def test_a_pool_grown_one_by_one_is_the_mean_of_its_messages():
    rows = np.eye(4, dtype=np.float32)[:3]
    pool = Pool.empty(4)
    for i, row in enumerate(rows):
        pool.add(row, {f"e{i}"})
    mean = rows.mean(axis=0)
    np.testing.assert_allclose(pool.direction, mean / np.linalg.norm(mean), rtol=1e-6)
    assert pool.cosine(rows[0]) == pytest.approx(1 / np.sqrt(3), rel=1e-6)
    assert pool.entities == {"e0", "e1", "e2"}


def test_an_empty_pool_matches_nothing_and_divides_by_nothing():
    assert Pool.empty(3).cosine(np.array([1, 0, 0], dtype=np.float32)) == 0.0


def test_coherence_is_the_mean_over_pairs_and_one_for_a_singleton():
    a = np.array([[1, 0], [0, 1], [1, 0]], dtype=np.float32)
    assert coherence(a) == pytest.approx(1 / 3)
    assert coherence(a[:1]) == 1.0
    with pytest.raises(ValueError, match="empty"):
        coherence(a[:0])
