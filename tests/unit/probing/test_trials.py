import pytest

from memsif_ray.probing.trials import Measured, Trial


def test_chance_is_beaten_only_significantly():
    assert Trial(14, 20, 0.5).p_value == pytest.approx(0.0577, abs=1e-4)
    assert Trial(15, 20, 0.5).p_value == pytest.approx(0.0207, abs=1e-4)


def test_nothing_written_is_no_success():
    assert Trial(0, 0, 0.5, found=0, planted=4).p_value == 1.0
    assert Trial(0, 0, 0.5, found=0, planted=4).score == 0.0


def test_statements_are_scored_by_precision_and_recall():
    assert Trial(3, 4, 0.5, found=2, planted=4).score == pytest.approx(2 * 0.75 * 0.5 / 1.25)


@pytest.mark.parametrize(
    ("model", "rule", "reason"),
    [
        (Trial(18, 20, 0.5), Trial(17, 20, 0.5), ""),
        (Trial(18, 20, 0.5), Trial(18, 20, 0.5), ""),
        (Trial(13, 20, 0.5), Trial(10, 20, 0.5), "no better than chance"),
        (Trial(16, 20, 0.5), Trial(19, 20, 0.5), "worse than the rule"),
    ],
)
def test_trust_needs_both(model, rule, reason):
    measured = Measured("boundary", model, rule, "b")
    assert (measured.trusted, measured.reason) == (not reason, reason)
