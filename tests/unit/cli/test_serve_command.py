"""What `memsif serve` refuses before anything starts, and keys."""

import json
import socket

import pytest
from typer.testing import CliRunner

from memsif_ray.cli.app import app

RUNNER = CliRunner()


def run(*arguments, code=0):
    done = RUNNER.invoke(app, arguments)
    assert done.exit_code == code, done.output
    return done


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.7", "::", "example.org"])
def test_other_machines_are_not_let_in_without_keys(host):
    assert "--keys" in run("serve", "--host", host, code=2).stderr


def test_a_taken_port_is_said_at_once():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        assert f"127.0.0.1:{port}" in run("serve", "--port", str(port), code=2).stderr


def test_a_key_is_shown_once_and_refused_after_revocation(tmp_path):
    store = ("--store", f"sqlite:///{tmp_path}/memory.db", "--json")
    made = json.loads(run("keys", "add", "acme", "--name", "laptop", *store).stdout)
    assert made["secret"].startswith("msk_")
    listed = run("keys", "list", "acme", *store).stdout
    assert made["secret"] not in listed
    assert [row["revoked_at"] for row in json.loads(listed)] == [None]
    assert json.loads(run("tenants", *store).stdout) == ["acme"]
    run("keys", "revoke", made["key_id"], *store)
    assert json.loads(run("keys", "list", "acme", *store).stdout)[0]["revoked_at"]
    assert "no key" in run("keys", "revoke", "0" * 16, *store, code=2).stderr


def test_the_folder_is_another_way_to_name_the_store(tmp_path, monkeypatch):
    monkeypatch.delenv("MEMSIF_STORE", raising=False)
    run("keys", "add", "acme", "--data", str(tmp_path / "new"))
    assert (tmp_path / "new" / "memory.db").exists()
    assert run("tenants", "--data", str(tmp_path / "new")).stdout.strip() == "acme"
