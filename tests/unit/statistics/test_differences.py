"""Paired differences: the bootstrap over questions and the sign-flip test."""

import numpy as np
import pytest

from memsif_ray.statistics.differences import paired


def test_paired_inference_by_hand():
    names = np.array(["a", "b", "c"])
    flat = paired([1, 1, 1], names)
    assert (flat.mean, flat.low, flat.high, flat.flag) == (1, None, None, "degenerate")
    assert flat.p_value == pytest.approx(2 / 8)  # only +++ and --- of eight are as extreme
    assert paired([0, 0, 0], names).p_value == 1
    mixed = paired([1, 1, -1], names)
    assert mixed.p_value == pytest.approx(1.0)
    assert (mixed.low, mixed.high) == (-1, 1)
    assert paired([], np.array([])).flag == "empty"
    assert paired([1.0], names[:1]).flag == "one_question"
    # Budgets of one question are one unit, not four.
    assert paired([1, 0, 1, 0], np.array(["a", "a", "b", "b"])).n == 2
