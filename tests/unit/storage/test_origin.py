"""Nobody goes on with a run on other data than it was begun with."""

import re
from dataclasses import asdict
from hashlib import sha256

import pytest

from memsif_ray.config import DataConfig, ExecutionConfig, RunConfig
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.storage.origin import keep_origin, origin_of, refuse_changed_data
from memsif_ray.storage.runs import RunFolder, run_folder


@pytest.fixture
def data(tmp_path):
    path = tmp_path / "locomo.json"
    path.write_text("[1]")
    return path


def config(data, **changes):
    execution = ExecutionConfig(output=data.parent / "runs")
    return RunConfig(data=DataConfig(dataset="locomo", path=data), execution=execution, **changes)


def begun(data, **changes):
    origin = origin_of(config(data, **changes), data)
    folder = run_folder(config(data, **changes), origin.sha256)
    keep_origin(folder, origin)
    return folder, origin


def start(data, **changes):
    refuse_changed_data(origin_of(config(data, **changes), data), data.parent / "runs")


def test_an_origin_is_the_digest_of_the_bytes(data):
    origin = origin_of(config(data), data)
    assert (origin.source, origin.release) == ("locomo.json", None)
    assert origin.sha256 == sha256(b"[1]").hexdigest()
    with pytest.raises(ConfigError, match="no data at"):
        origin_of(config(data), data.with_name("absent.json"))


def test_changed_data_is_refused_with_both_digests_and_the_folder(data):
    folder, before = begun(data)
    data.write_text("[2]")
    now = sha256(b"[2]").hexdigest()
    with pytest.raises(DataError, match=f"{re.escape(folder.path.name)}.*{before.sha256} then, {now} now"):
        start(data)
    data.write_text("[1]")
    start(data)


def test_other_settings_and_another_file_are_other_runs(data):
    begun(data)
    other = data.with_name("other.json")
    other.write_text("[2]")
    start(other)
    data.write_text("[2]")
    start(data, seed=1)


@pytest.mark.parametrize("complete", [True, False])
def test_only_a_run_that_has_ended_lets_its_data_change(data, complete):
    folder, origin = begun(data)
    folder.tables.write({}, {"complete": complete, "data": asdict(origin)})
    data.write_text("[2]")
    if complete:
        start(data)
    else:
        with pytest.raises(DataError, match="has changed"):
            start(data)


def test_a_folder_from_before_data_was_written_down_is_no_obstacle(data):
    RunFolder(data.parent / "runs" / "locomo-0123456789ab").tables.write({}, {"complete": False})
    start(data)
