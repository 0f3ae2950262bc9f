"""Data files are found where the package looks for them, and shipped measurements are up to date."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from memsif_ray import prompts
from memsif_ray.clients.embedded.weights import BUNDLED
from memsif_ray.config import ModelConfig
from memsif_ray.datasets import check
from memsif_ray.probing.lookup import find_profile, shipped_profiles

ROOT = Path(__file__).parent.parent.parent / "memsif_ray"
DATA = sorted(p.relative_to(ROOT) for p in ROOT.rglob("*") if p.suffix in (".json", ".j2"))


@pytest.mark.parametrize("path", DATA, ids=str)
def test_a_data_file_is_readable_as_a_resource(path):
    text = files("memsif_ray").joinpath(*path.parts).read_text(encoding="utf-8")
    assert text.strip()
    if path.suffix == ".json":
        json.loads(text)


def test_the_sample_and_all_prompts_load():
    assert check().dataset == "sample"
    assert all(prompts.load(name).fingerprint for name in prompts.names())


def test_shipped_profiles_were_measured_with_the_prompts_that_ship():
    stale = [profile.model for profile in shipped_profiles() if not profile.is_current]
    assert not stale, f"measure again: memsif doctor --model {stale[0]} --save memsif_ray/probing/profiles"


def test_every_bundled_model_has_a_profile(tmp_path):
    assert ModelConfig().model in BUNDLED
    assert all(find_profile(model, cache_dir=tmp_path) is not None for model in BUNDLED)
