from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.memory.budget import fit


class Characters:
    exact = True

    def count(self, text):
        return len(text)


def test_what_does_not_fit_is_passed_over_and_smaller_ones_still_tried():
    lines = ["aaaa", "b" * 50, "cc"]
    assert fit(lines, str, tokens=Characters(), budget=10) == ["aaaa", "cc"]
    assert fit(lines, str, tokens=Characters(), budget=10, contiguous=True) == ["aaaa"]
    assert fit(lines, str, tokens=Characters(), budget=0) == []
    assert fit(lines, str, tokens=Characters(), budget=-5) == []


@given(st.lists(st.text(max_size=30)), st.integers(-5, 100))
def test_no_budget_is_ever_exceeded_and_order_is_kept(lines, budget):
    items = list(enumerate(lines))
    kept = fit(items, lambda item: item[1], tokens=Characters(), budget=budget)
    assert sum(len(text) for _, text in kept) <= max(budget, 0)
    assert kept == sorted(kept)
