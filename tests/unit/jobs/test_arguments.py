"""What a job fails with is one line and an exit code, as with `memsif`."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from jobs import benchmark, build_memories, diagnose, label_actions, sweep, train_router
from jobs.arguments import job
from memsif_ray.errors import ConfigError, DataError, NotFound, ServiceBusy, ServiceError

ROOT = Path(__file__).parents[3]
SAMPLE = "jobs/conf/sample.yaml"


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConfigError("no such model"), 2, "no such model"),
        (DataError("line 3 is no JSON"), 2, "line 3 is no JSON"),
        (NotFound("no [red] run"), 2, "no [red] run"),
        (ServiceError("Ray did not start", "ray_start"), 3, "[ray_start] Ray did not start"),
        (ServiceBusy("the endpoint is busy"), 3, "the endpoint is busy"),
        (KeyboardInterrupt(), 130, "interrupted; the same job goes on from what is finished"),
    ],
)
def test_an_error_is_one_line_and_a_code(capsys, error, code, said):
    @job
    def main(argv):
        raise error

    assert main([]) == code
    assert capsys.readouterr().err.strip() == said


def test_a_bug_is_no_exit_code():
    @job
    def main(argv):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        main([])


@pytest.mark.parametrize("module", [benchmark, build_memories, diagnose, label_actions, sweep, train_router])
def test_every_job_says_in_one_line_that_its_file_is_not_there(capsys, module):
    first = ["nce"] if module is diagnose else []
    assert module.main([*first, "nowhere.yaml"]) == 2
    assert "nowhere.yaml" in capsys.readouterr().err


@pytest.mark.ray
def test_a_ray_that_does_not_start_is_one_line_and_code_3(tmp_path):
    command = [sys.executable, "-m", "jobs.build_memories", SAMPLE, "--set", f"execution.output={tmp_path}"]
    nowhere = "http://127.0.0.1:9/v1"
    for part in ("model", "embedder"):
        command += ["--set", f"{part}.base_url={nowhere}"]
    done = subprocess.run(
        command,
        cwd=ROOT,
        # So often Ray asks whether its own processes are there.
        env={k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"} | {"RAY_NUM_REDIS_GET_RETRIES": "0"},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 3, done.stderr
    assert "Ray did not start on this machine" in done.stderr and "Traceback" not in done.stderr
