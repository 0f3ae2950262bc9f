"""An equal token budget for every method, in a whole run on a local Ray."""

import pytest

from memsif_ray.clients.scripted_server import scripted_server
from memsif_ray.runtime.benchmark import run_benchmark
from tests.integration.scenario import CONVERSATIONS, QUESTIONS, run_config, tables_of

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]


def test_every_method_answers_within_the_budget_and_says_how(ten_conversations, tmp_path):
    with scripted_server() as server:
        config = run_config(
            ten_conversations,
            tmp_path,
            server.base_url,
            methods=["memsif", "naive-rag", "full-context"],
            packing={"budget": 30, "policy": "rewrite"},
        )
        result = run_benchmark(config, progress=False)
    assert result.exit_code == 0
    tables = tables_of(result.folder)
    assert tables["answers"]["context_tokens"].max() <= 30
    assert tables["packings"].height == CONVERSATIONS * QUESTIONS * 3 == tables["answers"].height
    assert set(tables["packings"]["action"]) == {"rewrite"}
    assert tables["packings"]["candidate_tokens"].max() > 30
    assert "pack_rewrite" in set(tables["calls"]["stage"])
