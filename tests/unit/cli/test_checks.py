import json

import pytest

from memsif_ray.cli.checks import (
    check_cache,
    check_disk,
    check_entities,
    check_memory,
    check_model,
    check_packages,
)
from memsif_ray.clients.scripted_server import scripted_server
from memsif_ray.config import RunConfig, load_run_config


def config(**settings) -> RunConfig:
    return load_run_config(None, {key.replace("__", "."): value for key, value in settings.items()})


def test_this_machine_is_described(tmp_path):
    plain = config(execution__output=tmp_path / "not" / "there" / "yet", entities="rules")
    for check in (check_packages, check_disk, check_memory, check_cache, check_entities):
        found = check(plain)
        assert found.ok or found.remedy, found


def test_an_endpoint_is_asked_for_its_models():
    with scripted_server() as server:
        good = check_model(config(model__base_url=server.base_url, model__model="scripted"))
        other = check_model(config(model__base_url=server.base_url, model__model="gpt-x"))
    gone = check_model(config(model__base_url=server.base_url, model__model="scripted"))
    assert good.ok
    assert (other.ok, other.remedy) == (False, "--model scripted")
    assert not gone.ok and "start the server" in gone.remedy


def test_an_unknown_embedded_model_names_the_remedy():
    found = check_model(config(model__model="no such model"))
    assert not found.ok and "--base-url" in found.remedy


def test_a_cache_that_cannot_be_written_is_found(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    found = check_cache(config())
    assert not found.ok and "XDG_CACHE_HOME" in found.remedy


@pytest.mark.ray
def test_doctor_probes_a_model_and_later_runs_follow_it(memsif, tmp_path):
    from memsif_ray.probing import capabilities_for

    with scripted_server() as server:
        place = {"model.base_url": server.base_url, "embedder.base_url": server.base_url}
        file = tmp_path / "run.yaml"
        file.write_text(
            json.dumps({"embedder": {"model": "hash-64", "base_url": server.base_url}, "entities": "rules"})
        )
        result = memsif(
            "doctor", file, "--model", "scripted", "--base-url", server.base_url, "--save", tmp_path, "--json"
        )
        wanted = load_run_config(None, place | {"model.model": "scripted"}).model
    assert result.exit_code == 0, result.stderr
    plain = json.loads(result.stdout)
    assert all(check["ok"] for check in plain["checks"] if check["needed"])
    trusted = {one["decision"]: one["trusted"] for one in plain["profile"]["measured"]}
    assert {name: getattr(capabilities_for(wanted), name) for name in trusted} == trusted
    assert (tmp_path / "scripted.json").is_file()
