import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.diagnostics.sampling import allocate, seeded_sample, stratified_sample, terciles


def test_a_sample_depends_on_seed_and_ids_only():
    ids = [f"q{n}" for n in range(50)]
    drawn = seeded_sample(ids, 10)
    assert drawn == seeded_sample(reversed(ids), 10)
    assert len(set(drawn)) == 10
    assert drawn != seeded_sample(ids, 10, seed=43)
    assert set(seeded_sample(ids, 99)) == set(ids)


def test_a_smaller_sample_is_the_beginning_of_a_larger_one():
    ids = [f"q{n}" for n in range(50)]
    assert seeded_sample(ids, 20)[:10] == seeded_sample(ids, 10)


def test_strata_get_their_share_by_largest_remainder():
    # 424 questions of the paper's LSHU subset: 63.9, 10.4 and 25.7 of 100.
    assert allocate({"S-hop": 271, "M-hop": 44, "Temp": 109}, 100) == {"S-hop": 64, "M-hop": 10, "Temp": 26}
    assert allocate({"a": 1, "b": 1, "c": 1}, 2) == {"a": 1, "b": 1, "c": 0}
    assert allocate({"a": 3, "b": 1}, 10) == {"a": 3, "b": 1}
    assert allocate({}, 10) == {}


@given(st.dictionaries(st.text(max_size=3), st.integers(0, 60), max_size=6), st.integers(0, 200))
def test_shares_add_up_and_no_stratum_gives_more_than_it_has(sizes, total):
    shares = allocate(sizes, total)
    assert sum(shares.values()) == min(total, sum(sizes.values()))
    assert all(0 <= shares[name] <= size for name, size in sizes.items())


def test_a_stratified_sample_keeps_the_mix():
    strata = {f"q{n}": "Temp" if n % 4 == 0 else "S-hop" for n in range(200)}
    drawn = stratified_sample(strata, 100)
    kinds = [strata[name] for name in drawn]
    assert (kinds.count("S-hop"), kinds.count("Temp")) == (75, 25)
    assert drawn == stratified_sample(dict(reversed(strata.items())), 100)


def test_terciles_of_different_values_have_equal_size():
    buckets, cuts = terciles([0.6, 0.1, 0.5, 0.2, 0.4, 0.3])
    assert buckets.tolist() == [2, 0, 2, 0, 1, 1]
    assert cuts == (pytest.approx(0.2 + 0.2 / 3), pytest.approx(0.4 + 0.1 / 3))


def test_terciles_never_part_equal_values():
    buckets, _ = terciles([1.0, 0.0, 1.0, 1.0, 1.0, 2.0])
    assert buckets.tolist() == [0, 0, 0, 0, 0, 2]
    assert set(terciles([0.5] * 9)[0].tolist()) == {0}
    assert terciles([3.0])[0].tolist() == [0]


def test_terciles_of_nothing_are_refused():
    with pytest.raises(ValueError, match="no values"):
        terciles([])
