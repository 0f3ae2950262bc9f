import numpy as np
import pytest

from memsif_ray.packing.mechanism import crossover, crossover_curve, decompose

BUDGETS = (16, 32, 64, 128, 256, 384, 512)


def test_the_decomposition_by_hand():
    """Four queries: only raw, both, only generated, neither."""
    gain = decompose(
        np.array([0.9, 0.9, 0.9, 0.9]),
        np.array([0.1, 0.5, 0.7, 0.3]),
        grounded=np.array([True, True, False, False]),
        supported=np.array([False, True, True, False]),
        replaces_all=False,
    )
    assert gain.coverage == pytest.approx(0.7 / 4)
    assert gain.replacement == pytest.approx((0.5 - 0.9) / 4)
    assert (gain.spillover, gain.total) == (0, pytest.approx(0.3 / 4))


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("replaces_all", [False, True])
def test_the_identity_holds_and_needs_the_assumption(seed, replaces_all):
    rng = np.random.default_rng(seed)
    raw, generated = rng.uniform(-1, 1, (2, 500))
    grounded, supported = rng.random((2, 500)) < rng.random((2, 1))
    gain = decompose(raw, generated, grounded=grounded, supported=supported, replaces_all=replaces_all)
    assert gain.total == pytest.approx(gain.coverage + gain.replacement + gain.spillover, abs=1e-12)
    assert (gain.spillover == 0) is not replaces_all


def test_the_gain_turns_from_coverage_to_replacement_as_the_budget_grows():
    gains = crossover_curve(BUDGETS)
    assert gains[1].total > 0 > gains[-1].total
    assert all(one.replacement <= 0 <= one.coverage for one in gains)
    late = [one.coverage for one in gains[2:]]
    assert late == sorted(late, reverse=True)
    at = crossover(BUDGETS, gains)
    assert at is not None and 256 < at < 512


def test_a_gain_that_never_turns_has_no_crossover():
    assert crossover(BUDGETS[:3], crossover_curve(BUDGETS[:3])) is None
