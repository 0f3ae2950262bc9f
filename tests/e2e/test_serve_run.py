"""`serve run serve/laptop.yaml` for real: Ray's own command, the embedded model, one message and a search."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import httpx
import pytest
import yaml

from tests.e2e.test_laptop_service import START_S, free_port

ROOT = Path(__file__).parents[2]

pytestmark = [pytest.mark.ray, pytest.mark.model]


def configuration(folder, port, model):
    """The laptop's, with a smaller model, another port and a folder of its own."""
    plain = yaml.safe_load((ROOT / "serve" / "laptop.yaml").read_text())
    plain["http_options"]["port"] = port
    plain["applications"][0]["args"] |= {"model": model, "data": str(folder / "memory"), "shards": 1}
    path = folder / "laptop.yaml"
    path.write_text(yaml.safe_dump(plain))
    return path


def await_ready(client, process, log):
    until = time.monotonic() + START_S
    while True:
        assert process.poll() is None and time.monotonic() < until, log.read_text()
        try:
            if client.get("/health/ready").is_success:
                return
        except httpx.TransportError:
            pass
        time.sleep(1)


def test_the_laptops_configuration_serves_memory(tmp_path, small_model):
    port, log = free_port(), tmp_path / "serve.log"
    with log.open("w") as output:
        process = subprocess.Popen(
            [Path(sys.executable).with_name("serve"), "run", configuration(tmp_path, port, small_model)],
            cwd=ROOT,
            env={**os.environ, "RAY_ADDRESS": "local", "RAY_AUTH_MODE": "disabled"},
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=300) as client:
            await_ready(client, process, log)
            body = {
                "conversation_id": "diary",
                "messages": "I adopted a greyhound called Comet.",
                "wait": True,
            }
            assert client.post("/v1/memories", json=body).json()["status"] == "done"
            query = {"conversation_id": "diary", "query": "greyhound"}
            assert "Comet" in client.post("/v1/search", json=query).json()["results"][0]["text"]
            texts = {"model": "all-MiniLM-L6-v2", "input": ["greyhound"]}
            assert len(client.post("/v1/embeddings", json=texts).json()["data"][0]["embedding"]) == 384
        os.killpg(process.pid, signal.SIGINT)
        process.wait(120)
    finally:
        process.kill()
    assert (tmp_path / "memory" / "memory.db").exists()
