import logging

import pytest

from memsif_ray.config import MatchingConfig, MemoryConfig, SegmentConfig, TrajectoryConfig
from memsif_ray.errors import ConfigError
from memsif_ray.memory.presets import PAPER, PRESETS, Thresholds, resolve_thresholds


def test_the_papers_embedder_has_the_papers_thresholds():
    found = resolve_thresholds(MemoryConfig(), "Qwen/Qwen3-Embedding-8B")
    assert found == Thresholds(0.325, 0.60, pytest.approx((0.325 + 0.60) / 2))


@pytest.mark.parametrize("name", ["all-MiniLM-L6-v2", "sentence-transformers/all-MiniLM-L6-v2"])
@pytest.mark.parametrize("how", ["clip", "affine"])
def test_the_bundled_embedder_has_its_own(name, how, caplog):
    config = MemoryConfig(matching=MatchingConfig(normalisation=how))
    assert resolve_thresholds(config, name) == PRESETS["all-minilm-l6-v2"][how] != PAPER
    assert not caplog.records


@pytest.mark.parametrize("presets", PRESETS.values())
def test_presets_are_ordered(presets):
    assert all(p.tau_split < p.tau_merge and 0 < p.tau_join < 1 for p in presets.values())


def test_an_unknown_embedder_gets_the_papers_and_a_warning(caplog):
    with caplog.at_level(logging.WARNING):
        assert resolve_thresholds(MemoryConfig(), "nobody/ever-heard-of-it") == PAPER
    assert "memsif calibrate" in caplog.text
    assert "nobody/ever-heard-of-it" in caplog.text


def test_configured_thresholds_come_first_and_need_no_preset(caplog):
    config = MemoryConfig(
        segments=SegmentConfig(tau_split=0.1, tau_merge=0.9), trajectories=TrajectoryConfig(tau_join=0.0)
    )
    assert resolve_thresholds(config, "another/unknown-model") == Thresholds(0.1, 0.9, 0.0)
    assert not caplog.records


def test_a_configured_threshold_must_agree_with_the_preset_one():
    config = MemoryConfig(segments=SegmentConfig(tau_split=0.7))
    with pytest.raises(ConfigError, match="set both"):
        resolve_thresholds(config, "all-MiniLM-L6-v2")
