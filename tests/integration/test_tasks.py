"""Jobs of independent tasks: failures are rows, and a second start does only what is left."""

from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from memsif_ray.clients.scripted_server import scripted_server
from memsif_ray.config import RunConfig
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.prompts.asking import ask
from memsif_ray.runtime.tasks import Result, run_tasks
from memsif_ray.runtime.toolbox import Bench
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.types import CallScope, Decision

pytestmark = pytest.mark.ray


@dataclass(frozen=True)
class Question:
    """Asks one question, and then may find that its input is broken."""

    name: str
    broken: Path

    @property
    def scope(self) -> CallScope:
        return CallScope("test", self.name)

    async def run(self, bench: Bench) -> Result:
        reply = await ask(
            bench.tools.chat,
            "answer",
            stage="answer",
            scope=self.scope,
            max_tokens=20,
            question="Who?",
            asked_at=None,
            context=f"Ann in {self.name}",
        )
        if self.broken.exists() and self.name == "b/2":
            raise DataError("broken input")
        if self.broken.exists() and self.name == "a":
            raise ConfigError("no such thing") if self.broken.read_text() else DataError("broken input")
        decision = Decision("test", self.name, reply, "llm")
        row = {"method": "", "conversation_id": "", "run": None, **{f: getattr(decision, f) for f in FIELDS}}
        return Result({"decisions": [row]})


FIELDS = ("kind", "subject_id", "outcome", "decided_by", "score", "detail")


@pytest.fixture
def job(tmp_path, local_ray):
    with scripted_server() as server:
        config = RunConfig.model_validate(
            {
                "model": {"base_url": server.base_url, "model": "scripted", "deadline_s": 20},
                "embedder": {"base_url": server.base_url, "model": "hash-64"},
                "entities": "rules",
            }
        )
        tasks = [Question(name, tmp_path / "broken") for name in ("c", "a", "b/2")]
        yield server, tasks, {"folder": JobFolder(tmp_path / "job"), "config": config, "progress": False}


def test_all_parts_are_put_together_in_the_order_of_tasks(job):
    server, tasks, how = job
    done = run_tasks(tasks, **how, tables=("decisions", "verdicts"), about={"seed": 7})
    assert (done.exit_code, done.failures) == (0, ())
    tables = done.folder.tables
    assert tables.read("decisions")["subject_id"].to_pylist() == ["c", "a", "b/2"]
    assert tables.read("verdicts").num_rows == 0
    assert tables.read("calls")["conversation_id"].to_pylist() == ["c", "a", "b/2"]
    assert tables.read("tasks")["status"].to_pylist() == ["done"] * 3
    assert (tables.about()["complete"], tables.about()["seed"]) == (True, 7)


def test_a_finished_job_returns_without_a_call(job):
    server, tasks, how = job
    run_tasks(tasks, **how)
    calls = len(server.bodies)
    assert run_tasks(tasks, **how).exit_code == 0
    assert len(server.bodies) == calls


def test_a_task_that_failed_is_repeated_with_its_calls_replayed(job):
    server, tasks, how = job
    tasks[0].broken.write_text("")
    first = run_tasks(tasks, **how)
    assert first.exit_code == 1
    assert [(r.name, r.status, r.reason) for r in first.failures] == [
        ("a", "failed", "DataError: broken input"),
        ("b/2", "failed", "DataError: broken input"),
    ]
    assert first.folder.tables.about()["complete"] is False
    assert first.folder.tables.read("decisions")["subject_id"].to_pylist() == ["c"]
    tasks[0].broken.unlink()
    second = run_tasks(tasks, **how)
    assert second.exit_code == 0
    assert second.folder.tables.read("decisions")["subject_id"].to_pylist() == ["c", "a", "b/2"]
    assert len([body for body in server.bodies if "messages" in body]) == 3


def test_a_wrong_configuration_stops_the_job(job):
    _, tasks, how = job
    tasks[0].broken.write_text("stop")
    with pytest.raises(ConfigError, match="no such thing"):
        run_tasks(tasks, **how)


def test_names_are_unique(job):
    _, tasks, how = job
    with pytest.raises(ValueError, match="same name"):
        run_tasks([tasks[0], replace(tasks[1], name="c")], **how)
