"""What there is to do, who does it, and what is left."""

import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.config import DataConfig, RunConfig, load_run_config
from memsif_ray.errors import ConfigError, ReplyInvalid
from memsif_ray.runtime.shards import assign
from memsif_ray.runtime.spec import ToolSpec, WorkerSpec
from memsif_ray.runtime.units import FAILED, INCOMPLETE, Plan, Unit, last_record, reason_of, seal
from memsif_ray.storage.inputs import Listed
from memsif_ray.storage.runs import RunFolder

LISTED = (Listed("short", 10, 2), Listed("long", 99, 3), Listed("mute", 50, 0))
CONFIG = RunConfig(methods=("memsif", "naive-rag"), runs=2)


def test_long_conversations_are_built_first_and_those_without_questions_never_asked():
    plan = Plan.of(CONFIG, LISTED)
    assert [unit.conversation_id for unit in plan.builds] == ["long", "mute", "short"] * 2
    assert len(plan.asks) == 2 * 2 * 2
    assert plan.questions() == {"long": 12, "short": 8}
    assert plan.totals() == {"built": 6, "asked": 20, "graded": 20}


def test_only_what_is_not_done_is_left(tmp_path):
    folder, plan = RunFolder(tmp_path), Plan.of(CONFIG, LISTED)
    for unit in plan.units:
        seal(unit, folder, {})
    assert plan.left(folder).units == ()
    ask = Unit("memsif", "short", 1)
    seal(ask, folder, {}, status=INCOMPLETE, failed=1, reason="busy")
    build = Unit("naive-rag", "long")
    seal(build, folder, {}, status=FAILED, reason="busy")
    assert plan.left(folder).units == (build, ask)
    assert last_record(ask, folder).failed == 1


def test_a_run_of_questions_is_no_longer_done_when_its_tables_are_gone(tmp_path):
    folder = RunFolder(tmp_path)
    assert last_record(Unit("memsif", "c", 0), folder) is None


@given(st.dictionaries(st.text(max_size=5), st.integers(1, 100), min_size=1), st.integers(1, 8))
def test_conversations_are_spread_evenly_and_always_alike(weights, shards):
    owner = assign(weights, shards)
    assert owner == assign(dict(reversed(weights.items())), shards)
    loads = [sum(weights[c] for c in weights if owner[c] == shard) for shard in range(shards)]
    assert max(loads) - min(loads) <= max(weights.values())


def test_what_workers_are_built_from_is_small_and_can_be_pickled(tmp_path):
    spec = WorkerSpec(ToolSpec(CONFIG, "board", tmp_path), RunFolder(tmp_path))
    assert len(pickle.dumps(spec)) < 10_000
    assert pickle.loads(pickle.dumps(spec)) == spec


def test_reasons_fit_in_a_row():
    assert reason_of(ReplyInvalid("not_json", "hm")) == "ReplyInvalid: not_json: 'hm'"


@pytest.mark.parametrize("name", ["sample", "smoke", "locomo", "longmemeval"])
def test_every_configuration_that_ships_is_valid(name, pytestconfig):
    config = load_run_config(pytestconfig.rootpath / "jobs" / "conf" / f"{name}.yaml")
    assert isinstance(config.data, DataConfig)


def test_unknown_settings_are_refused():
    with pytest.raises(ConfigError, match="extractr"):
        load_run_config(None, {"memory.extractr": 1})
