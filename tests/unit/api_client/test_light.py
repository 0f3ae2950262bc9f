"""A client belongs into other people's programmes, so it brings nothing heavy along."""

import json
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from memsif_ray.cli import app

SERVER_SIDE = {
    "ray",
    "torch",
    "numpy",
    "openai",
    "fastapi",
    "starlette",
    "polars",
    "mcp",
    "typer",
    "sqlalchemy",
}


@pytest.mark.parametrize(
    "code", ["from memsif_ray import Client; Client()", "import memsif_ray.api.mem0 as m; m.Memory()"]
)
def test_a_client_loads_httpx_and_pydantic_and_no_more(code):
    script = f"{code}; import sys, json; sys.stdout.write(json.dumps(list(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(json.loads(done.stdout)) & SERVER_SIDE


def test_the_command_line_loads_no_mcp_package():
    script = "import memsif_ray.cli, sys; sys.exit('mcp' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "example.org"])
def test_open_tools_are_not_shown_to_the_network(host):
    done = CliRunner().invoke(app, ["mcp", "--http", "--host", host, "--base-url", "http://x"])
    assert done.exit_code == 2
    assert "this machine" in done.stderr
