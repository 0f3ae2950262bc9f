from dataclasses import replace

import pytest

from memsif_ray.config import ModelConfig, RunConfig, load_run_config
from memsif_ray.memory.tools import CAPABLE, NO_MODEL
from memsif_ray.probing import capabilities_for, find_profile, save_profile, settled
from memsif_ray.probing.profile import DECISIONS, Profile, basis
from memsif_ray.probing.trials import Measured, Trial

GOOD, BAD = Trial(20, 20, 0.5), Trial(10, 20, 0.5)


def profile(model: str = "some/model", *, weak: tuple[str, ...] = ()) -> Profile:
    return Profile(model, tuple(Measured(d, BAD if d in weak else GOOD, BAD, basis(d)) for d in DECISIONS))


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


def test_plain_data_and_back():
    before = profile(weak=("boundary",))
    assert Profile.from_plain(before.to_plain()) == before


def test_a_model_may_what_it_was_measured_to_do():
    assert profile().capabilities == CAPABLE
    assert profile(weak=("boundary", "distil")).capabilities == replace(CAPABLE, boundary=False, distil=False)


def test_a_changed_prompt_makes_a_measurement_count_as_none():
    old = profile(weak=("boundary",))
    changed = replace(old, measured=tuple(replace(m, basis="other") for m in old.measured))
    assert changed.capabilities == CAPABLE
    assert not changed.is_current and old.is_current


def test_measured_here_comes_before_shipped_comes_before_nothing():
    bundled, remote = ModelConfig(), ModelConfig(model="some/model")
    assert capabilities_for(bundled) == NO_MODEL
    assert capabilities_for(remote) == CAPABLE
    save_profile(profile(bundled.model))
    save_profile(profile(remote.model, weak=("extract",)))
    assert capabilities_for(bundled) == CAPABLE
    assert capabilities_for(remote) == replace(CAPABLE, extract=False)


def test_a_stale_measurement_gives_way_to_the_shipped_one():
    name = ModelConfig().model
    current = profile(name)
    save_profile(replace(current, measured=tuple(replace(m, basis="other") for m in current.measured)))
    found = find_profile(name)
    assert found is not None and found.is_current


def test_names_with_slashes_keep_apart():
    save_profile(profile("a/b", weak=("boundary",)))
    save_profile(profile("a_b"))
    assert capabilities_for(ModelConfig(model="a/b")).boundary is False
    assert capabilities_for(ModelConfig(model="a_b")).boundary is True


def test_settling_replaces_auto_only_and_shows_in_the_identity():
    config = load_run_config(None, {"memory.segments.decide": "llm"})
    weak = settled(config, NO_MODEL)
    assert weak.memory.segments.decide == "llm"
    assert weak.memory.trajectories.decide == "rule"
    assert weak.memory.core.extract == weak.memory.core.consolidate == "rule"
    assert weak.memory.retrieval.sufficiency == weak.memory.active.synthesise == "rule"
    assert weak.memory.retrieval.evidence == "extract"
    strong = settled(RunConfig(), CAPABLE)
    assert strong.memory.retrieval.evidence == "distil"
    assert strong.identity() != settled(RunConfig(), NO_MODEL).identity()
    assert settled(strong, NO_MODEL) == strong
