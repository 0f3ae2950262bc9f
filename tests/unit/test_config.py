import pytest

from memsif_ray.config import RunConfig, fingerprint, load_run_config, load_sweep
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


@pytest.mark.parametrize(
    ("setting", "default", "other"),
    [
        ("state", "online", "cold"),
        ("order", "fixed", "per-run"),
        ("memory.segments.unit", "topic", "message"),
        ("memory.trajectories.enabled", True, False),
    ],
)
def test_settings_that_came_later_left_the_identity_of_earlier_runs_alone(setting, default, other):
    def leaf(plain):
        for name in setting.split("."):
            plain = plain.get(name, {})
        return plain

    assert leaf(RunConfig().model_dump()) == default
    assert leaf(RunConfig().identity()) == {}
    assert leaf(load_run_config(overrides={setting: other}).identity()) == other


def test_a_sweep_is_one_whole_configuration_per_point(tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text(
        "memory: {matching: {normalisation: affine}}\nsweep:\n- memory.matching.alpha: 0.5\n"
        "- {memory.segments.tau_split: 0.1, runs: 2}\n",
        encoding="utf-8",
    )
    first, second = load_sweep(file, {"runs": 3, "seed": 7})
    assert first[0] == {"memory.matching.alpha": 0.5}
    assert (first[1].memory.matching.alpha, first[1].runs, first[1].seed) == (0.5, 3, 7)
    assert (second[1].memory.matching.alpha, second[1].memory.segments.tau_split) == (0.8, 0.1)
    assert (second[1].runs, second[1].memory.matching.normalisation) == (2, "affine")


@pytest.mark.parametrize("text", ["seed: 7", "sweep: []", "sweep: {seed: 7}", "sweep: [{seeed: 7}]"])
def test_a_file_without_a_proper_sweep_is_refused(tmp_path, text):
    file = tmp_path / "sweep.yaml"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError, match=r"sweep\.yaml"):
        load_sweep(file)


def test_the_sweeps_that_ship_are_the_papers(pytestconfig):
    folder = pytestconfig.rootpath / "jobs" / "conf"
    alphas = [config.memory.matching.alpha for _, config in load_sweep(folder / "alpha.yaml")]
    assert alphas == [0.0, 0.25, 0.5, 0.75, 1.0, 0.8]
    segments = [config.memory.segments for _, config in load_sweep(folder / "thresholds.yaml")]
    widths = [round(one.tau_merge - one.tau_split, 3) for one in segments]
    assert widths == [0.075, 0.175, 0.275, 0.375, 0.475]
    assert {round((one.tau_merge + one.tau_split) / 2, 4) for one in segments} == {0.4625}
    assert load_run_config(folder / "ablations.yaml").methods == ("memsif", "ablations")
    states = [(config.state, config.order) for _, config in load_sweep(folder / "state.yaml")]
    assert states == [("online", "fixed"), ("online", "per-run"), ("cold", "fixed")]
    budgets = [config for _, config in load_sweep(folder / "budgets.yaml")]
    assert [config.packing.budget for config in budgets] == [128, 256, 512, 1024, 2048]
    # A method that offers fewer tokens than the cap would have a flat curve for no reason of its own.
    assert all(config.memory.retrieval.context_tokens == 2048 for config in budgets)
