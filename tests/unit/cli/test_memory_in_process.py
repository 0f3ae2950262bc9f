"""One memory from the command line, in the process: a real database, no chat model unless it is needed."""

import json

import pytest
from typer.testing import CliRunner

from memsif_ray import Memory
from memsif_ray.cli import app
from memsif_ray.clients.scripted_server import scripted_server
from tests.unit.service.serving import tools_of

EMBEDDER = "hash-64"


@pytest.fixture(scope="module")
def embeddings():
    with scripted_server() as server:
        yield server.base_url


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "memory"
    with Memory(path=folder / "memory.db", tools=tools_of()) as memory:
        memory.add("I adopted a greyhound called Comet.")
    return folder


@pytest.fixture
def memsif(embeddings, monkeypatch):
    monkeypatch.delenv("MEMSIF_RAY_BASE_URL", raising=False)

    def call(*arguments, code=0):
        """With a chat model that cannot be started."""
        models = ("--model", "no-such-model", "--embedder", EMBEDDER, "--embedder-url", embeddings)
        done = CliRunner().invoke(app, [*arguments, *models])
        assert done.exit_code == code, done.output
        return done

    return call


def test_search_export_and_import_need_no_chat_model(memsif, data, tmp_path):
    assert "Comet" in memsif("search", "greyhound", "--data", str(data)).stdout
    bundle = tmp_path / "bundle.json"
    memsif("export", "--data", str(data), "--output", str(bundle))
    memsif("import", str(bundle), "--data", str(tmp_path / "new"))
    found = memsif("search", "greyhound", "--data", str(tmp_path / "new"), "--json").stdout
    assert any("Comet" in one["text"] for one in json.loads(found)["results"])


def test_what_needs_a_model_that_is_not_there_says_so_and_loses_nothing(memsif, data, tmp_path):
    told = memsif("ask", "Who is Comet?", "--data", str(data), code=2).stderr
    assert "no embedded model 'no-such-model'" in told and "Traceback" not in told
    more = tmp_path / "more.txt"
    more.write_text("Comet sleeps on the sofa.")
    told = memsif("ingest", str(more), "--data", str(data), code=2).stderr
    assert "no embedded model 'no-such-model'" in told and "Traceback" not in told
    exported = memsif("export", "--data", str(data)).stdout
    assert "Comet sleeps on the sofa." in exported


def test_another_embedder_is_refused_with_the_remedy_and_the_remedy_works(memsif, data, embeddings):
    place = ("--data", str(data), "--embedder-url", embeddings)

    def run(*arguments, code=0):
        done = CliRunner().invoke(app, [*arguments, *place])
        assert done.exit_code == code, done.output
        return done

    told = run("search", "greyhound", "--embedder", "other", code=2).stderr
    assert "'hash-64'" in told and "'other'" in told and "memsif reembed" in told
    done = json.loads(run("reembed", "--embedder", "other", "--json").stdout)
    assert (done["embedder"], done["conversations"], done["changed"]) == ("other", 1, 1)
    assert "Comet" in run("search", "greyhound", "--embedder", "other").stdout
    assert json.loads(run("reembed", "--embedder", "other", "--json").stdout)["changed"] == 0
    assert run("search", "greyhound", "--embedder", EMBEDDER, code=2)
