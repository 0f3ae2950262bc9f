"""`ray job submit` against a cluster of one machine, as the README says it."""

import json
import os
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import httpx
import pytest

from memsif_ray.clients.scripted_server import scripted_server

pytestmark = pytest.mark.ray

ROOT = Path(__file__).parents[2]
RAY = Path(sys.executable).with_name("ray")
START_S = 180


def free_ports(number):
    probes = [socket.create_server(("127.0.0.1", 0)) for _ in range(number)]
    ports = [probe.getsockname()[1] for probe in probes]
    for probe in probes:
        probe.close()
    return ports


@contextmanager
def head(log):
    """`ray start --head` on ports of its own; ends by a signal to it, never by `ray stop`, which ends all."""
    port, dashboard, client, agent = free_ports(4)
    command = [RAY, "start", "--head", "--block", "--num-cpus=2", "--disable-usage-stats"]
    command += [f"--port={port}", f"--ray-client-server-port={client}", "--node-ip-address=127.0.0.1"]
    command += [f"--dashboard-port={dashboard}", f"--dashboard-agent-listen-port={agent}"]
    env = {k: v for k, v in os.environ.items() if k != "RAY_ADDRESS"} | {"RAY_AUTH_MODE": "disabled"}
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=env, start_new_session=True)
    address = f"http://127.0.0.1:{dashboard}"
    try:
        await_dashboard(address, process, log)
        yield address, env
    finally:
        process.terminate()
        process.wait(60)


def await_dashboard(address, process, log):
    until = time.monotonic() + START_S
    while time.monotonic() < until:
        assert process.poll() is None, log.read_text()
        try:
            if httpx.get(f"{address}/api/jobs/", timeout=5).is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.5)
    pytest.fail(log.read_text())


def test_a_benchmark_is_submitted_to_a_cluster(tmp_path):
    with scripted_server() as server, head(tmp_path / "head.log") as (address, env):
        settings = {
            "model.base_url": server.base_url,
            "model.model": "scripted",
            "embedder.base_url": server.base_url,
            "embedder.model": "hash-64",
            "entities": "rules",
            "execution.output": tmp_path / "runs",
        }
        job = ["python", "-m", "jobs.benchmark", "jobs/conf/sample.yaml"]
        for name, value in settings.items():
            job += ["--set", f"{name}={value}"]
        done = subprocess.run(
            [RAY, "job", "submit", "--address", address, "--working-dir", ".", "--", *job],
            cwd=ROOT,
            env=env,
            capture_output=True,
            text=True,
            timeout=400,
        )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "succeeded" in done.stdout
    (manifest,) = (tmp_path / "runs").rglob("manifest.json")
    assert json.loads(manifest.read_text())["tables"]
