"""Which profiles there are, and what a run's grading is called."""

from typing import get_args

import pytest

from memsif_ray import prompts
from memsif_ray.config import JudgeProfile, JudgingConfig, RunConfig
from memsif_ray.evaluation.profiles import PROFILES
from memsif_ray.storage.runs import run_folder


def test_every_name_in_the_configuration_is_a_profile_with_prompts():
    assert set(PROFILES) == set(get_args(JudgeProfile))
    used = {name for profile in PROFILES.values() for name in profile.prompts}
    assert used == {name for name in prompts.names() if name.startswith(("judges/", "judge_"))}


@pytest.mark.parametrize("name", PROFILES)
def test_a_profile_reads_both_words_that_its_prompts_ask_for(name):
    profile = PROFILES[name]
    for prompt in profile.prompts:
        schema = prompts.load(prompt).schema
        assert schema is not None
        accepting, rejecting = schema["properties"][profile.key]["enum"]
        assert accepting.casefold() in profile.right and rejecting.casefold() in profile.wrong


def test_the_default_grading_changes_no_runs_folder_and_every_other_does():
    plain = RunConfig()
    assert "judging" not in plain.identity()
    lenient = RunConfig(judging=JudgingConfig(profile="lenient"))
    thrice = RunConfig(judging=JudgingConfig(votes=3))
    assert len({run_folder(config, "data").path for config in (plain, lenient, thrice)}) == 3
    assert [config.judging.label for config in (plain, lenient, thrice)] == [
        "memsif",
        "lenient",
        "memsif+3-votes",
    ]
