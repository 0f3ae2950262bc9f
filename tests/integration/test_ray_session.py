"""Connecting to Ray, and the window on remote calls."""

import asyncio
import os
import socket
import subprocess
import sys

import pytest
import ray
from ray.data import DataContext

from memsif_ray.config import ExecutionConfig
from memsif_ray.errors import ConfigError
from memsif_ray.runtime.bounded import map_bounded
from memsif_ray.runtime.pool import through_pool
from memsif_ray.runtime.session import ray_session

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]


def gate_class():
    """Made in a function, so that it travels by value: workers cannot import test files."""

    class Gate:
        def __init__(self):
            self.open = self.most = 0

        async def enter(self, number):
            self.open += 1
            self.most = max(self.most, self.open)
            await asyncio.sleep(0.02)
            self.open -= 1
            return number

        async def most_open(self):
            return self.most

    return Gate


def slow_class():
    class Slow:
        def __init__(self, seconds, most):
            self.seconds = seconds

        async def __call__(self, batch):
            await asyncio.sleep(self.seconds)
            return batch

    return Slow


def test_a_row_may_take_longer_than_ray_data_would_wait():
    DataContext.get_current().execution_no_progress_timeout_s = 1
    with ray_session(ExecutionConfig()):
        rows = list(through_pool(slow_class(), 4, [{"row": 1}], execution=ExecutionConfig(shards=1)))
    assert rows == [{"row": 1}]


def test_an_existing_connection_is_used_and_left_open():
    with ray_session(ExecutionConfig()), ray_session(ExecutionConfig()):
        assert ray.is_initialized()
    assert ray.is_initialized()


def test_no_more_calls_are_open_than_allowed_and_none_is_lost():
    gate = ray.remote(gate_class()).options(num_cpus=0, max_concurrency=50).remote()
    taken = []

    def numbers():
        for number in range(30):
            taken.append(number)
            yield number

    results = map_bounded(gate.enter.remote, numbers(), limit=4)
    first = next(results)
    assert len(taken) <= 6, "items are taken only when there is room"
    assert sorted([first, *results]) == list(range(30))
    assert ray.get(gate.most_open.remote()) <= 4


def test_an_error_of_a_call_is_raised_as_its_own_kind():
    def fail(number):
        raise ConfigError("wrong")

    remote = ray.remote(fail).options(num_cpus=0)
    with pytest.raises(ConfigError):
        list(map_bounded(remote.remote, [1], limit=2))


def test_a_cluster_that_is_not_there_is_one_clear_error_at_once(tmp_path):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{closed.getsockname()[1]}"
    command = [
        "-m",
        "jobs.benchmark",
        "jobs/conf/sample.yaml",
        "--set",
        "model.base_url=http://127.0.0.1:1/v1",
    ]
    done = subprocess.run(
        [sys.executable, *command, "--set", f"execution.output={tmp_path}"],
        env={**os.environ, "RAY_ADDRESS": address},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 2
    assert f"cannot connect to Ray at {address}" in done.stderr
    assert "Traceback" not in done.stderr
