"""A router as a file: what it decides, and what it refuses to be."""

import json
import logging

import numpy as np
import pytest

from memsif_ray.errors import ConfigError, DataError, EmbedderMismatch
from memsif_ray.packing.actions import ACTIONS, Action, best_actions
from memsif_ray.packing.features import EXTENDED, PAPER, Features
from memsif_ray.packing.mlp import ActionUtilityMLP
from memsif_ray.packing.ridge import ActionUtilityRidge
from memsif_ray.packing.router import load_router
from memsif_ray.packing.training import train_router, training_fingerprint
from memsif_ray.packing.utilities import Utilities
from tests.unit.packing.planted import planted

DATA = planted(1, questions=60).data
FIT, HELD = DATA.where(DATA.questions < "q040"), DATA.where(DATA.questions >= "q040")


def row(data, i):
    return Features(PAPER, tuple(data.features[i]), data.embedder)


def with_values(data, values):
    return Utilities.of(data.questions, data.budgets, data.features, values, embedder=data.embedder)


@pytest.mark.parametrize(
    ("utilities", "action"),
    [
        ([0.5, 0.5, 0.5, 0.5], "retain"),
        ([0.5, 0.5 + 1e-15, 0.4, 0.4], "retain"),
        ([0.4, 0.5, 0.5, 0.5], "merge"),
        ([0.4, 0.3, 0.5, 0.5], "abstract"),
        ([np.nan, 0.3, np.nan, 0.31], "rewrite"),
    ],
)
def test_ties_go_to_retention_then_in_a_fixed_order(utilities, action):
    assert ACTIONS[best_actions([utilities])[0]] == action


@pytest.mark.parametrize(
    "make", [ActionUtilityRidge, lambda: ActionUtilityMLP(widths=(4,), decays=(0.01,), max_epochs=20)]
)
def test_a_router_survives_its_file_and_predicts_as_its_learner(make, tmp_path):
    router = train_router(FIT, calibration=HELD, make=make)
    file = tmp_path / "router.json"
    file.write_text(router.model_dump_json())
    again = load_router(file, embedder="hash-64")
    assert again == router
    learner = make().fit(FIT.features, FIT.values, groups=FIT.questions)
    assert again.utilities(HELD.features) == pytest.approx(learner.predict(HELD.features), abs=1e-12)
    assert set(json.loads(file.read_text())) >= {"version", "features", "actions", "budgets", "embedder"}
    assert again.training.fingerprint == training_fingerprint(FIT)
    assert (again.training.rows, again.training.questions) == (160, 40)


def test_the_fingerprint_knows_the_rows_but_not_their_order():
    order = np.random.default_rng(0).permutation(len(FIT))
    assert training_fingerprint(FIT.where(order)) == training_fingerprint(FIT)
    assert training_fingerprint(FIT.where(order[1:])) != training_fingerprint(FIT)


@pytest.mark.parametrize(
    "make", [ActionUtilityRidge, lambda: ActionUtilityMLP(widths=(4,), decays=(0.01,), max_epochs=20)]
)
def test_shuffled_rows_give_the_same_router(make):
    order = np.random.default_rng(0).permutation(len(FIT))
    one, other = (train_router(data, calibration=HELD, make=make) for data in (FIT, FIT.where(order)))
    for ours, theirs in zip(one.layers, other.layers, strict=True):
        assert np.abs(np.array(ours.weights) - np.array(theirs.weights)).max() < 1e-9
        assert np.abs(np.array(ours.bias) - np.array(theirs.bias)).max() < 1e-9
    assert (one.training, one.thresholds.keys()) == (other.training, other.thresholds.keys())


def test_a_safe_router_replaces_only_above_the_threshold_of_a_known_budget():
    router = train_router(FIT, calibration=HELD)
    tight = int(np.flatnonzero((HELD.budgets == 32) & (HELD.feature("fit_fraction") == 0))[0])
    free = router.choose(row(HELD, tight), budget=32)
    assert free.action is not Action.RETAIN
    low, high = (router.model_copy(update={"thresholds": {32: limit}}) for limit in (0.01, 5.0))
    assert low.choose(row(HELD, tight), budget=32, safe=True).action is free.action
    assert high.choose(row(HELD, tight), budget=32, safe=True).action is Action.RETAIN
    never = router.model_copy(update={"thresholds": {32: None}})
    assert "threshold" in never.choose(row(HELD, tight), budget=32, safe=True).reason
    unknown = low.choose(row(HELD, tight), budget=48, safe=True)
    assert (unknown.action, unknown.reason) == (Action.RETAIN, "no threshold for a budget of 48")


def test_another_embedder_or_other_features_are_refused(tmp_path):
    router = train_router(FIT)
    file = tmp_path / "router.json"
    file.write_text(router.model_dump_json())
    with pytest.raises(EmbedderMismatch, match="hash-64, not other"):
        load_router(file, embedder="other")
    with pytest.raises(EmbedderMismatch):
        router.choose(Features(PAPER, (0.0,) * 11, "other"), budget=32)
    with pytest.raises(ConfigError, match="paper features"):
        router.choose(Features(EXTENDED, (0.0,) * len(EXTENDED), "hash-64"), budget=32)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"version": 2}, "version"),
        ({"features": ["cost", "colour"]}, "other features"),
        ({"feature_set": "extended"}, "other features"),
        ({"actions": ["retain", "merge"]}, "other features or actions"),
        ({"layers": [{"weights": [[1.0]], "bias": [0.0]}]}, "wrong shape"),
        ({"colour": "red"}, "colour"),
    ],
)
def test_a_file_made_for_something_else_fails_clearly(change, said, tmp_path):
    file = tmp_path / "router.json"
    file.write_text(json.dumps(json.loads(train_router(FIT).model_dump_json()) | change))
    with pytest.raises(ConfigError, match=said):
        load_router(file)


@pytest.mark.parametrize("text", ["", "not json", "[]"])
def test_a_file_that_is_no_router_fails_clearly(text, tmp_path):
    file = tmp_path / "router.json"
    file.write_text(text)
    with pytest.raises(ConfigError, match=r"router\.json"):
        load_router(file)
    with pytest.raises(ConfigError, match="cannot read"):
        load_router(tmp_path / "missing.json")


def test_rows_with_nan_are_refused_and_constant_features_named(caplog):
    features = FIT.features.copy()
    features[:3, 5] = np.nan
    features[:, 4] = 2.0
    odd = Utilities.of(FIT.questions, FIT.budgets, features, FIT.values, embedder="hash-64")
    with caplog.at_level(logging.WARNING):
        router = train_router(odd)
    assert (router.training.refused, router.training.constant) == (3, ("sessions",))
    assert "3 row(s) refused: a feature or a utility is missing" in caplog.text and "sessions" in caplog.text
    assert np.isfinite(router.utilities(HELD.features)).all()
    assert all(weights[4] == 0 for weights in router.layers[0].weights)


def test_an_action_that_was_never_executed_stays_unknown(caplog):
    values = FIT.values.copy()
    values[:, 1:] = np.nan
    router = train_router(with_values(FIT, values), calibration=HELD)
    assert router.training.unknown == ("merge", "abstract", "rewrite")
    assert "never executed" in caplog.text
    assert np.isnan(router.utilities(HELD.features)[:, 1:]).all()
    assert router.choose(row(HELD, 0), budget=32).action is Action.RETAIN
    assert set(router.thresholds.values()) == {None}

    values[5, 2] = 1.0
    some = train_router(with_values(FIT, values)).training
    assert (some.rows, some.refused, some.unknown) == (1, 159, ("merge", "rewrite"))
    with pytest.raises(DataError, match="no row to train"):
        train_router(with_values(FIT, np.full_like(values, np.nan)))


def test_calibration_on_a_fitted_question_is_refused():
    with pytest.raises(DataError, match="both fitting and calibration"):
        train_router(FIT, calibration=DATA)
