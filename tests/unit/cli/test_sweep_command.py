import json
from pathlib import Path

import pytest

from memsif_ray.clients.scripted_server import scripted_server

SWEEP = """
methods: [bm25, abstain]
data: {conversations: [ines-rowan], limit: 1}
entities: rules
execution: {shards: 1}
sweep:
- memory.retrieval.context_tokens: 40
- memory.retrieval.context_tokens: 400
"""


@pytest.mark.ray
def test_a_sweep_is_a_run_per_setting_each_in_its_own_folder(memsif, tmp_path):
    file = tmp_path / "sweep.yaml"
    file.write_text(SWEEP, encoding="utf-8")
    with scripted_server() as server:
        url = server.base_url
        endpoints = (
            *("--set", f"model.base_url={url}", "--set", "model.model=scripted"),
            *("--set", f"embedder.base_url={url}", "--set", "embedder.model=hash-64"),
        )
        result = memsif("sweep", file, *endpoints, "--json")
    assert result.exit_code == 0, result.stderr
    runs = json.loads(result.stdout)
    assert [run["settings"] for run in runs] == [
        {"memory.retrieval.context_tokens": 40},
        {"memory.retrieval.context_tokens": 400},
    ]
    assert len({Path(run["folder"]) for run in runs}) == 2
    assert all(run["units"] == 4 and not run["failures"] for run in runs)


def test_a_file_without_a_sweep_is_exit_code_2(memsif, tmp_path):
    file = tmp_path / "plain.yaml"
    file.write_text("seed: 1\n", encoding="utf-8")
    result = memsif("sweep", file)
    assert result.exit_code == 2
    assert "called sweep" in result.stderr
