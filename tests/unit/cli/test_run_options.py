import pytest

from memsif_ray.cli.run import _listed, _question_ids, with_judge_endpoint
from memsif_ray.config import load_run_config, parse_settings
from memsif_ray.errors import ConfigError


def test_lists_are_written_with_commas():
    assert _listed("a, b,,c ") == ("a", "b", "c")
    assert _listed(None) is None


def test_question_ids_may_stand_in_a_file(tmp_path):
    file = tmp_path / "ids.txt"
    file.write_text("q1\n\n# the hard ones\nq2 \n")
    assert _question_ids(str(file)) == ("q1", "q2")
    assert _question_ids("q3,q4") == ("q3", "q4")


def test_a_judge_without_endpoint_shares_that_of_the_model():
    ours = {"model.base_url": "http://a/v1", "judge.model": "big"}
    assert with_judge_endpoint(load_run_config(None, ours)).judge.base_url == "http://a/v1"
    other = ours | {"judge.base_url": "http://b/v1"}
    assert with_judge_endpoint(load_run_config(None, other)).judge.base_url == "http://b/v1"
    assert with_judge_endpoint(load_run_config(None, {})).judge is None


def test_any_setting_can_be_set():
    settings = parse_settings(["memory.segments.tau_split=0.3", "methods=[memsif]", "grade=false"])
    assert settings == {"memory.segments.tau_split": 0.3, "methods": ["memsif"], "grade": False}
    config = load_run_config(None, settings)
    assert config.memory.segments.tau_split == 0.3 and config.methods == ("memsif",) and not config.grade


@pytest.mark.parametrize("pair", ["tau_split", "=3", "a=[1"])
def test_a_setting_that_is_none_is_refused(pair):
    with pytest.raises(ConfigError):
        parse_settings([pair])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("--dataset", "locomo"), "pass --data FILE"),
        (("--set", "memory.segmentz=1"), "segmentz"),
        (("--set", "nothing"), "KEY=VALUE"),
        (("missing.yaml",), "cannot read configuration missing.yaml"),
        (("--methods", "magic"), "unknown method"),
        (("--limit", "0"), "limit"),
        (("--judge-model", "big"), "give --judge-base-url"),
        (("--conversations", "nobody", "--methods", "naive-rag"), "unknown conversation nobody"),
    ],
)
def test_a_wrong_configuration_fails_before_any_work(memsif, tmp_path, arguments, said):
    result = memsif("run", *arguments)
    assert result.exit_code == 2
    assert said in result.stderr
    assert result.stdout == ""
