"""Labelling jobs: all actions for every question, killed and resumed, and a router trained on the outcome."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import polars as pl
import pytest
import yaml

from memsif_ray.clients.scripted_server import Fault, scripted_server
from memsif_ray.config import RunConfig
from memsif_ray.packing.actions import ACTIONS
from memsif_ray.packing.router import load_router
from memsif_ray.runtime.labelling import label_actions
from memsif_ray.schemas import VOLATILE
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.labels import read_labels
from tests.integration.scenario import settings

pytestmark = pytest.mark.ray

QUESTIONS, BUDGETS, REALISATIONS, IN_FLIGHT = 6, (16, 32), 2, 4
ROWS = QUESTIONS * len(BUDGETS) * REALISATIONS * len(ACTIONS)


def configured(data: Path, output: Path, base_url: str, **labelling) -> dict:
    plain = settings(data, output, base_url)
    chosen = {"sample": QUESTIONS, "budgets": list(BUDGETS), "realisations": REALISATIONS, **labelling}
    return plain | {"labelling": chosen, "answer_max_tokens": 32}


def label_in_child(config: Path, root: Path, cache: Path) -> subprocess.Popen:
    return subprocess.Popen(
        [sys.executable, "-m", "jobs.label_actions", str(config)],
        cwd=root,
        env={**os.environ, "XDG_CACHE_HOME": str(cache)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )


def test_killed_in_the_middle_then_finished_equals_undisturbed(ten_conversations, tmp_path, pytestconfig):
    root = pytestconfig.rootpath
    with scripted_server(latency_s=0.02) as server:

        def start(name: str) -> subprocess.Popen:
            path = tmp_path / f"{name}.yaml"
            path.write_text(yaml.safe_dump(configured(ten_conversations, tmp_path / name, server.base_url)))
            return label_in_child(path, root, tmp_path / "cache")

        clean = start("clean")
        assert clean.wait() == 0, clean.stderr.read()
        undisturbed = Counter(map(str, server.bodies))

        seen = len(server.bodies)
        child = start("killed")
        while child.poll() is None and len(server.bodies) - seen < undisturbed.total() // 2:
            time.sleep(0.001)
        assert child.poll() is None, child.stderr.read()
        child.send_signal(signal.SIGKILL)
        child.wait()
        resumed = start("killed")
        assert resumed.wait() == 0, resumed.stderr.read()
        repeated = Counter(map(str, server.bodies[seen:])) - undisturbed
        assert repeated.total() <= IN_FLIGHT, "only calls in flight at the kill repeat"
        assert not undisturbed - Counter(map(str, server.bodies[seen:]))

        again, calls = start("killed"), len(server.bodies)
        assert again.wait() == 0
        assert len(server.bodies) == calls
    left_alone, killed = (tables_of(tmp_path / name) for name in ("clean", "killed"))
    assert left_alone["labels"].height == ROWS
    for name, table in left_alone.items():
        assert table.equals(killed[name]), name


def test_labels_of_a_job_train_a_router(local_ray, ten_conversations, tmp_path, pytestconfig):
    with scripted_server() as server:
        config = RunConfig.model_validate(configured(ten_conversations, tmp_path / "out", server.base_url))
        job = label_actions(config, progress=False)
    assert job.exit_code == 0
    saved = tmp_path / "router.json"
    command = [sys.executable, "-m", "jobs.train_router", str(job.folder.path), "--save", str(saved)]
    done = subprocess.run(command, cwd=pytestconfig.rootpath, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "Gain over retention, cross-fitted" in done.stdout
    assert "undefined: full-history transfer" in done.stderr
    assert load_router(saved, embedder="hash-64").budgets == BUDGETS
    assert "<svg" in (job.folder.path / "report.html").read_text()


def test_equal_requests_of_a_question_are_made_once(local_ray, ten_conversations, tmp_path):
    with scripted_server() as server:
        plain = configured(ten_conversations, tmp_path / "out", server.base_url, sample=1)
        job = label_actions(RunConfig.model_validate(plain), progress=False)
    requests = [str(body) for body in server.bodies]
    assert len(requests) == len(set(requests))
    labels = pl.DataFrame(pl.from_arrow(job.folder.tables.read("labels")))
    # Shared replies are in the rows' own costs: 1 call to answer, and one more to generate from one note.
    assert labels.filter(action="retain")["calls"].unique().to_list() == [1]
    assert labels.filter(action="merge")["calls"].unique().to_list() == [2]
    assert labels["calls"].sum() > len(requests)


def test_a_failed_service_leaves_rows_without_utility_that_are_tried_again(
    local_ray, ten_conversations, tmp_path
):
    broken = [True]
    refused = Fault(400, message="too long")
    with scripted_server(faults=lambda _, body: refused if broken[0] and is_answer(body) else None) as server:
        config = RunConfig.model_validate(
            configured(ten_conversations, tmp_path / "out", server.base_url, sample=2)
        )
        first = label_actions(config, progress=False)
        rows = first.folder.tables.read("labels").to_pylist()
        assert first.exit_code == 1
        assert len(rows) == 2 * ROWS // QUESTIONS
        assert {row["utility"] for row in rows} == {None}
        assert all("too long" in row["error"] for row in rows)
        broken[0] = False
        second = label_actions(config, progress=False)
    assert second.exit_code == 0
    assert None not in second.folder.tables.read("labels")["utility"].to_pylist()


def test_retrieved_candidates_come_from_the_whole_history(local_ray, ten_conversations, tmp_path):
    with scripted_server() as server:
        plain = configured(
            ten_conversations, tmp_path / "out", server.base_url, evidence="bm25", utility="rules"
        )
        job = label_actions(RunConfig.model_validate(plain), progress=False)
    instances = job.folder.tables.read("instances").to_pylist()
    assert {row["notes"] for row in instances} == {8}  # every turn names the place of the question
    assert {row["evidence_recall"] for row in instances} == {1.0}
    found = read_labels(job.folder.path)
    assert set(found.data.values.ravel()) <= {0.0, 1.0}
    assert found.about["evidence"] == "bm25"


def test_a_judge_grades_what_the_actions_made(local_ray, ten_conversations, tmp_path):
    with scripted_server() as server:
        plain = configured(ten_conversations, tmp_path / "out", server.base_url, utility="judge")
        job = label_actions(RunConfig.model_validate(plain), progress=False)
        judged = [body for body in server.bodies if "label" in str(body.get("response_format"))]
        calls = len(server.bodies)
        label_actions(RunConfig.model_validate(plain), progress=False)
        assert len(server.bodies) == calls
    assert job.exit_code == 0 and judged
    labels = pl.DataFrame(pl.from_arrow(job.folder.tables.read("labels")))
    assert set(labels["utility"]) == {0.0, 1.0}
    assert labels["grader"].unique().to_list() == ["memsif"]
    metered = pl.DataFrame(pl.from_arrow(job.folder.tables.read("calls")))
    assert metered.filter(stage="judge").height == len(judged) < labels.height
    assert read_labels(job.folder.path).about["grader"] == "memsif by scripted"


def is_answer(body: dict) -> bool:
    return "Short answer:" in body["messages"][-1]["content"]


def tables_of(output: Path) -> dict[str, pl.DataFrame]:
    folder = JobFolder(next(output.glob("labels-*"))).tables
    names = ("labels", "instances", "decisions", "calls")
    return {
        name: pl.DataFrame(pl.from_arrow(folder.read(name))).drop(*VOLATILE, strict=False) for name in names
    }
