"""What a token budget means for where a run lands."""

import pytest

from memsif_ray.config import PackingConfig, RunConfig, load_run_config
from memsif_ray.errors import ConfigError
from memsif_ray.packing.features import PAPER
from memsif_ray.packing.router import Layer, Router, Training
from memsif_ray.storage.runs import run_folder


def router(bias=0.0):
    return Router(
        kind="ridge",
        feature_set="paper",
        features=PAPER,
        embedder="hash-64",
        budgets=(64,),
        layers=(Layer(weights=((0.0,) * 11,) * 4, bias=(bias, 0.0, 0.0, 0.0)),),
        training=Training(fingerprint="f", rows=4, questions=1),
    )


def name_of(packing):
    return run_folder(RunConfig(packing=packing), "x").path.name


def test_a_run_without_a_budget_means_what_it_meant_before_budgets_existed():
    assert "packing" not in RunConfig().identity()
    assert name_of(PackingConfig()) != name_of(PackingConfig(budget=64))
    assert name_of(PackingConfig(budget=64)) != name_of(PackingConfig(budget=64, policy="merge"))


def test_a_router_counts_by_what_it_says_not_by_where_it_lies(tmp_path):
    names = {}
    for name, one in (("a", router()), ("b", router()), ("c", router(0.5))):
        file = tmp_path / f"{name}.json"
        file.write_text(one.model_dump_json(indent=2 if name == "b" else None))
        names[name] = name_of(PackingConfig(budget=64, policy="router", router=file))
    assert names["a"] == names["b"] != names["c"]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"packing.policy": "merge"}, "--budget"),
        ({"packing.budget": 64, "packing.policy": "router"}, "--router"),
        ({"packing.budget": 64, "packing.router": "r.json"}, "no other, need a router"),
        ({"packing.budget": -1}, "greater than or equal to 0"),
        ({"packing.budget": 64, "packing.policy": "magic"}, "retain"),
    ],
)
def test_a_policy_without_what_it_needs_is_refused(settings, said):
    with pytest.raises(ConfigError, match=said):
        load_run_config(overrides=settings)


def test_a_router_that_cannot_be_read_fails_before_any_work(tmp_path):
    with pytest.raises(ConfigError, match="cannot read router"):
        name_of(PackingConfig(budget=64, policy="router", router=tmp_path / "missing.json"))
