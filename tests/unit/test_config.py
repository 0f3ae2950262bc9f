import pytest

from memsif_ray.config import RunConfig, fingerprint, load_run_config
from memsif_ray.errors import ConfigError


def test_a_typo_fails_before_any_work_and_names_the_setting():
    with pytest.raises(ConfigError, match=r"memory\.segments\.tau_splitt"):
        load_run_config(overrides={"memory.segments.tau_splitt": 0.3})


def test_overrides_win_over_the_file_and_the_file_over_defaults(tmp_path):
    file = tmp_path / "run.yaml"
    file.write_text("seed: 7\nruns: 3\n", encoding="utf-8")
    config = load_run_config(file, {"runs": 2})
    assert (config.seed, config.runs, config.methods) == (7, 2, RunConfig().methods)


@pytest.mark.parametrize("text", ["- a list", "{", "data: {dataset: locomo}"])
def test_a_file_that_is_no_configuration_is_named(tmp_path, text):
    file = tmp_path / "broken.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"broken\.yaml"):
        load_run_config(file)
    with pytest.raises(ConfigError, match=r"absent\.yaml"):
        load_run_config(tmp_path / "absent.yaml")


def test_thresholds_must_leave_room_between_them():
    with pytest.raises(ConfigError, match="tau_split"):
        load_run_config(overrides={"memory.segments.tau_split": 0.7, "memory.segments.tau_merge": 0.6})


@pytest.mark.parametrize(
    ("setting", "value", "changes"),
    [
        ("seed", 1, True),
        ("model.model", "other", True),
        ("memory.retrieval.context_tokens", 512, True),
        ("execution.shards", 7, False),
        ("model.max_in_flight", 3, False),
        ("model.base_url", "http://elsewhere:1/v1", False),
    ],
)
def test_the_identity_changes_with_what_is_computed_not_with_how(setting, value, changes):
    plain = fingerprint(RunConfig().identity())
    assert (fingerprint(load_run_config(overrides={setting: value}).identity()) != plain) is changes
