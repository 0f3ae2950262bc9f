import json

import pytest

from memsif_ray.clients.scripted_server import scripted_server


def arguments(base_url: str) -> list[str]:
    return [
        *("run", "--model", "scripted", "--base-url", base_url, "--embedder", "hash-64", "--json"),
        *("--set", f"embedder.base_url={base_url}", "--set", "entities=rules", "--set", "model.deadline_s=5"),
        *("--conversations", "ines-rowan", "--limit", "2", "--methods", "memsif,naive-rag", "--shards", "1"),
    ]


@pytest.mark.ray
def test_a_run_prints_one_document_and_is_done_the_second_time(memsif):
    with scripted_server() as server:
        first = memsif(*arguments(server.base_url))
        calls = len(server.bodies)
        second = memsif(*arguments(server.base_url))
    assert first.exit_code == second.exit_code == 0, first.stderr
    plain = json.loads(first.stdout)
    assert json.loads(second.stdout) == plain
    assert calls == len(server.bodies) > 0
    assert plain["units"] == 4 and plain["failures"] == []
    assert {row["method"] for row in plain["summary"]["costs"]} == {"memsif", "naive-rag"}
    assert "0 not done" in first.stderr
    story = json.loads(memsif("show", plain["folder"], "-q", "ines-rowan_q0", "--json").stdout)
    assert {attempt["method"] for attempt in story["attempts"]} == {"memsif", "naive-rag"}


@pytest.mark.ray
def test_a_service_that_is_gone_is_exit_code_3(memsif):
    with scripted_server() as server:
        gone = server.base_url
    with scripted_server() as embeddings:
        result = memsif(
            *arguments(gone),
            *("--set", f"embedder.base_url={embeddings.base_url}", "--set", "model.deadline_s=1"),
        )
    assert result.exit_code == 3, result.stderr
    assert len(json.loads(result.stdout)["failures"]) > 0
