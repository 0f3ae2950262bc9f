"""Whole runs on a local Ray: failures are rows, order does not matter, a finished run is left alone."""

import os
import signal
import threading
import time
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
import yaml

from jobs.benchmark import main
from memsif_ray.clients.scripted import reasonable
from memsif_ray.clients.scripted_server import Fault, scripted_server
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.runtime.benchmark import run_benchmark, run_building
from memsif_ray.runtime.merge import OF_INPUTS, OF_UNITS
from memsif_ray.schemas import TABLES
from tests.integration.scenario import (
    CONVERSATIONS,
    QUESTIONS,
    assert_same_tables,
    marker,
    run_config,
    settings,
    tables_of,
)

pytestmark = [pytest.mark.ray, pytest.mark.usefixtures("local_ray")]


def test_a_run_writes_every_table_and_is_left_alone_when_finished(ten_conversations, tmp_path):
    with scripted_server() as server:
        config = run_config(ten_conversations, tmp_path / "a", server.base_url, runs=2)
        result = run_benchmark(config, progress=False)
        calls = sum(server.requests.values())
        again = run_benchmark(config, progress=False)
        assert sum(server.requests.values()) == calls
    assert result.exit_code == 0
    assert set(again.records) == set(result.records)
    tables = tables_of(result.folder)
    assert tables.keys() == {"calls", "units", *OF_INPUTS, *OF_UNITS} <= TABLES.keys()
    assert tables["answers"].height == CONVERSATIONS * QUESTIONS * 2 * 2
    assert tables["verdicts"].height == tables["answers"].height
    assert tables["answers"]["answer"].null_count() == 0
    assert tables["segments"].height > 0
    assert tables["units"].height == CONVERSATIONS * 2 * 3


def test_a_run_says_what_it_read_and_does_not_go_on_with_other_data(ten_conversations, tmp_path):
    refused = [True]
    fault = Fault(400, message="too long")
    with scripted_server(faults=lambda *_: fault if refused[0] else None) as server:
        config = run_config(ten_conversations, tmp_path / "a", server.base_url, methods=["naive-rag"])
        begun = run_benchmark(config, progress=False)
        assert begun.exit_code == 1
        before = ten_conversations.read_text()
        ten_conversations.write_text(before.replace("red kite", "blue kite"))
        with pytest.raises(DataError, match=f"{sha256(before.encode()).hexdigest()} then"):
            run_benchmark(config, progress=False)
        ten_conversations.write_text(before)
        refused[0] = False
        ended = run_benchmark(config, progress=False)
    assert (ended.folder, ended.exit_code) == (begun.folder, 0)
    said = ended.folder.tables.about()["data"]
    assert (said["source"], said["sha256"]) == (ten_conversations.name, sha256(before.encode()).hexdigest())


def test_speed_changes_no_row(ten_conversations, tmp_path):
    one_by_one = {"shards": 1, "units_in_flight": 1}
    with scripted_server() as server:
        folders = [
            run_benchmark(
                run_config(
                    ten_conversations,
                    tmp_path / name,
                    server.base_url,
                    execution={"output": tmp_path / name, **execution},
                ),
                progress=False,
            ).folder
            for name, execution in (("fast", {"shards": 2, "units_in_flight": 10}), ("slow", one_by_one))
        ]
    assert_same_tables(*folders)


def test_memories_built_alone_are_taken_up_by_the_benchmark(ten_conversations, tmp_path):
    with scripted_server() as server:
        config = run_config(ten_conversations, tmp_path, server.base_url)
        built = run_building(config, progress=False)
        assert len(built.records) == CONVERSATIONS * 2
        assert not built.failures
        stages = len(server.bodies)
        result = run_benchmark(config, progress=False)
        asked = server.bodies[stages:]
    assert result.folder == built.folder
    assert not [
        body for body in asked if "response_format" in body and "boundary" in str(body["response_format"])
    ]


def test_a_failed_question_is_a_row_and_only_it_is_asked_again(ten_conversations, tmp_path, capsys):
    trouble = {"on": True}

    def refuse(arrival, body):
        said = body["messages"][-1]["content"]
        bad = trouble["on"] and marker(5) in said and "Short answer" in said
        return Fault(status=400, code="content_filter", message="content filter") if bad else None

    with scripted_server(faults=refuse) as server:
        path = tmp_path / "run.yaml"
        path.write_text(yaml.safe_dump(settings(ten_conversations, tmp_path / "out", server.base_url)))
        assert main([str(path)]) == 1
        assert "conv-5" in capsys.readouterr().err
        trouble["on"] = False
        before = len(server.bodies)
        assert main([str(path)]) == 0
        repeated = server.bodies[before:]
        clean = run_benchmark(
            run_config(ten_conversations, tmp_path / "clean", server.base_url), progress=False
        )
    assert repeated
    assert all(marker(5) in body["messages"][-1]["content"] for body in repeated)
    (folder,) = (tmp_path / "out").iterdir()
    assert_same_tables(type(clean.folder)(folder), clean.folder)


def test_a_failed_run_still_has_a_row_per_question(ten_conversations, tmp_path):
    def refuse(arrival, body):
        return Fault(status=400, code="content_filter") if marker(3) in str(body["messages"]) else None

    with scripted_server(faults=refuse) as server:
        result = run_benchmark(run_config(ten_conversations, tmp_path, server.base_url), progress=False)
    assert result.exit_code == 1
    answers = tables_of(result.folder)["answers"]
    assert answers.height == CONVERSATIONS * QUESTIONS * 2
    failed = answers.filter(answers["answer"].is_null())
    assert set(failed["conversation_id"]) == {"conv-3"}
    assert (failed["error"] != "").all()
    assert {record.conversation_id for record in result.failures} == {"conv-3"}


def test_a_run_whose_replies_cannot_be_used_has_ended_but_is_not_complete(ten_conversations, tmp_path):
    def silent(request):
        if "Short answer" in request.user and f"{marker(5)}, 1?" in request.user:
            return ""
        return reasonable(request)

    with scripted_server(silent) as server:
        config = run_config(ten_conversations, tmp_path, server.base_url, methods=["naive-rag"])
        first = run_benchmark(config, progress=False)
        calls = len(server.bodies)
        again = run_benchmark(config, progress=False)
        assert len(server.bodies) == calls  # asking until a reply happens to fit would be choosing
    for result in (first, again):
        assert (result.failures, result.unanswered, result.exit_code) == ((), 1, 1)
        assert result.report()[0] == "failed: 1 questions: the model's replies cannot be used; final"
    manifest = first.folder.tables.about()
    assert (manifest["complete"], manifest["ended"]) == (False, True)
    lost = tables_of(first.folder)["answers"].filter(pl.col("answer").is_null())
    assert lost["conversation_id"].to_list() == ["conv-5"]


def test_a_shard_that_dies_in_the_middle_of_a_question_loses_nothing(ten_conversations, tmp_path):
    with scripted_server(latency_s=0.05) as server:
        killed: list[int] = []
        killer = threading.Thread(target=_kill_a_shard_once, args=(server, killed), daemon=True)
        killer.start()
        result = run_benchmark(run_config(ten_conversations, tmp_path / "a", server.base_url), progress=False)
        killer.join(timeout=60)
        assert killed
        assert result.exit_code == 0
        clean = run_benchmark(run_config(ten_conversations, tmp_path / "b", server.base_url), progress=False)
    assert_same_tables(result.folder, clean.folder)


def _kill_a_shard_once(server, killed: list[int]) -> None:
    """Wait for a few answers, then kill one process that is asking; only our own children qualify."""
    while sum("Short answer" in body["messages"][-1]["content"] for body in list(server.bodies)) < 5:
        time.sleep(0.01)
    for pid in _descendants(os.getpid()):
        if "ray::ConversationShard" in _command(pid):
            os.kill(pid, signal.SIGKILL)
            killed.append(pid)
            return


def _descendants(root: int) -> list[int]:
    parents = {int(p.name): _parent(int(p.name)) for p in Path("/proc").iterdir() if p.name.isdigit()}
    found = {root}
    while grown := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= grown
    return sorted(found - {root})


def _parent(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])
    except (OSError, IndexError):
        return 0


def _command(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text()
    except OSError:
        return ""


def test_a_wrong_configuration_is_one_clear_error(ten_conversations, tmp_path, capsys):
    with scripted_server() as server:
        config = run_config(
            ten_conversations, tmp_path, server.base_url, embedder={"model": "/no/such/model"}
        )
        with pytest.raises(ConfigError, match="/no/such/model"):
            run_benchmark(config, progress=False)
        plain = settings(ten_conversations, tmp_path, server.base_url)
    path = tmp_path / "run.yaml"
    path.write_text(yaml.safe_dump(plain | {"methods": ["memsiff"]}))
    assert main([str(path)]) == 2
    assert "memsiff" in capsys.readouterr().err
    assert main([str(tmp_path / "absent.yaml")]) == 2
    path.write_text(yaml.safe_dump(plain | {"data": {"dataset": "locomo", "path": "/no/file.json"}}))
    assert main([str(path)]) == 2
