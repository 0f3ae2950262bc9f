"""One unit from beginning to end, without Ray, against a real endpoint that misbehaves on demand."""

import json
import re
from datetime import datetime

import pytest

from memsif_ray.clients.scripted_server import Fault, scripted_server
from memsif_ray.config import DataConfig, RunConfig
from memsif_ray.datasets import load
from memsif_ray.errors import DataError, ReplyInvalid, ServiceBusy
from memsif_ray.methods import METHODS as REGISTRY
from memsif_ray.runtime.progress import Tally
from memsif_ray.runtime.toolbox import Toolbox
from memsif_ray.runtime.units import DONE, FAILED, INCOMPLETE, STOPPED, Unit, last_record
from memsif_ray.runtime.work import Worker
from memsif_ray.storage.inputs import list_inputs, read_inputs, write_inputs
from memsif_ray.storage.memories import read_memory
from memsif_ray.storage.runs import RunFolder

METHODS = ["memsif", "naive-rag", "full-context"]
BUILD, ASK = Unit("naive-rag", "vera"), Unit("naive-rag", "vera", 0)


@pytest.fixture
def folder(tmp_path):
    folder = RunFolder(tmp_path / "run")
    write_inputs(folder, load(DataConfig(conversations=("vera",), limit=4)))
    return folder


def worker_for(folder, url, **changes):
    config = RunConfig.model_validate(
        {
            "model": {"base_url": url, "model": "scripted", "deadline_s": 5},
            "embedder": {"base_url": url, "model": "hash-64"},
            "entities": "rules",
            **changes,
        }
    )
    vectors = folder.path / "vectors"
    return Worker(config, folder, make_toolbox=lambda: Toolbox(config, Tally(), vectors=vectors))


def test_a_conversation_is_kept_as_the_dataset_gave_it(folder):
    dataset = load(DataConfig(conversations=("vera",), limit=4))
    inputs = read_inputs(folder, "vera")
    assert inputs.conversation == dataset.conversations[0]
    assert inputs.questions == dataset.questions
    assert inputs.gold == dataset.gold
    assert isinstance(inputs.conversation.messages[0].timestamp, datetime)
    assert [entry.questions for entry in list_inputs(folder)] == [4]


def test_a_damaged_input_is_noticed_before_work_starts(folder):
    path = folder.inputs("vera").file("messages")
    path.write_bytes(path.read_bytes()[:-1])
    assert list_inputs(folder) is None


@pytest.mark.parametrize("method", METHODS)
async def test_every_method_is_built_and_asked_and_the_second_time_calls_nobody(folder, method):
    build, ask = Unit(method, "vera"), Unit(method, "vera", 0)
    with scripted_server() as server:
        worker = worker_for(folder, server.base_url)
        assert (await worker.do(build)).status == DONE
        assert (await worker.do(ask)).status == DONE
        answers, calls = ask.folder(folder).read("answers"), len(server.bodies)
        again = worker_for(folder, server.base_url)
        await again.do(build)
        await again.do(ask)
        assert len(server.bodies) == calls
    seconds = answers.column_names.index("seconds")
    assert ask.folder(folder).read("answers").remove_column(seconds).equals(answers.remove_column(seconds))
    assert answers["order"].to_pylist() == [0, 1, 2, 3]
    assert len(ask.folder(folder).read("verdicts")) == 4


@pytest.mark.parametrize("method", ["memsif", "naive-rag", "com", "memgas", "mem0"])
async def test_loading_a_memory_is_charged_to_nobody_and_a_question_is_marked_as_one(folder, method):
    ask = Unit(method, "vera", 0)
    with scripted_server() as server:
        worker = worker_for(folder, server.base_url, state="cold")
        await worker.do(Unit(method, "vera"))
        await worker.do(ask)
    built, asked = _embedded(Unit(method, "vera"), folder), _embedded(ask, folder)
    assert built and {row["question_id"] for row in built} == {""}
    assert asked and {row["question_id"] for row in asked} == {"*"}
    stored = sum(row["texts"] for row in built)
    assert max(row["texts"] for row in asked) < stored / 2  # a memory is embedded again in one piece


def _embedded(unit, folder):
    rows = [json.loads(line) for line in unit.ledger(folder).read_text().splitlines()]
    return [row for row in rows if row["stage"] == "embed"]


async def test_a_question_that_is_replayed_takes_no_less_time_than_when_it_was_asked(folder):
    took = []
    with scripted_server() as server:
        await worker_for(folder, server.base_url).do(BUILD)
        for _ in range(2):
            await worker_for(folder, server.base_url).do(ASK)
            took.append(ASK.folder(folder).read("answers")["seconds"].to_pylist())
            journal = ASK.ledger(folder)
            rows = [json.loads(line) for line in journal.read_text().splitlines()]
            slow = [row | {"latency_s": 1000.0 if row["stage"] == "answer" else 0.0} for row in rows]
            journal.write_text("".join(f"{json.dumps(row)}\n" for row in slow))
    assert max(took[0]) < 1000 <= min(took[1])
    assert max(took[1]) < 2000  # the judge's calls are no part of it


async def test_a_run_of_questions_starts_from_the_memory_as_it_was_built(folder):
    with scripted_server() as server:
        worker = worker_for(folder, server.base_url)
        build = Unit("memsif", "vera")
        await worker.do(build)
        before = repr(read_memory(build.folder(folder)))
        await worker.do(Unit("memsif", "vera", 0))
        assert repr(read_memory(build.folder(folder))) == before


async def test_a_memory_that_cannot_be_built_is_a_row_and_so_is_each_of_its_questions(folder):
    def refuse(arrival, body):
        return Fault(status=400, code="content_filter", message="no")

    with scripted_server(faults=refuse) as server:
        worker = worker_for(folder, server.base_url, memory={"segments": {"decide": "llm"}})
        built = await worker.do(Unit("memsif", "vera"))
        asked = await worker.do(Unit("memsif", "vera", 0))
    assert built.status == FAILED
    assert "content_filter" in built.reason
    assert last_record(built.unit, folder) == built
    assert (asked.status, asked.failed) == (FAILED, 4)
    rows = asked.unit.folder(folder).read("answers").to_pylist()
    assert len(rows) == 4
    assert all(row["answer"] is None and "memory was not built" in row["error"] for row in rows)


async def test_a_refused_question_leaves_the_unit_incomplete_until_it_is_mended(folder):
    trouble = [True]

    def refuse(arrival, body):
        last = "Short answer" in body["messages"][-1]["content"]
        return Fault(status=400, code="context_length_exceeded") if trouble[0] and last else None

    with scripted_server(faults=refuse) as server:
        worker = worker_for(folder, server.base_url)
        await worker.do(BUILD)
        asked = await worker.do(ASK)
        assert (asked.status, asked.failed) == (INCOMPLETE, 4)
        trouble.clear()
        trouble.append(False)
        assert (await worker.do(ASK)).status == DONE


async def test_a_damaged_memory_is_not_asked_and_is_built_again_for_nothing(folder):
    with scripted_server() as server:
        worker = worker_for(folder, server.base_url)
        await worker.do(Unit("memsif", "vera"))
        table = Unit("memsif", "vera").folder(folder).file("segments")
        table.write_bytes(table.read_bytes()[:-1])
        asked = await worker.do(Unit("memsif", "vera", 0))
        calls = len(server.bodies)
        assert (await worker.do(Unit("memsif", "vera"))).status == DONE
        assert len(server.bodies) == calls
        assert (await worker.do(Unit("memsif", "vera", 0))).status == DONE
    assert (asked.status, asked.failed) == (FAILED, 4)


async def test_a_wrong_configuration_stops(folder):
    with scripted_server() as server:
        worker = worker_for(folder, server.base_url, embedder={"model": "/no/such/model"})
        stopped = await worker.do(BUILD)
    assert stopped.status == STOPPED
    assert "/no/such/model" in stopped.reason
    assert last_record(BUILD, folder) is None


async def test_the_oracle_is_told_the_evidence_of_each_question_and_shows_that(folder):
    with scripted_server() as server:
        worker = worker_for(folder, server.base_url)
        await worker.do(Unit("oracle", "vera"))
        asked = await worker.do(Unit("oracle", "vera", 0))
    assert asked.status == DONE
    rows = asked.unit.folder(folder).read("answers").to_pylist()
    assert any(row["gold_evidence"] for row in rows)
    for row in rows:
        assert sorted(row["context_message_ids"]) == sorted(row["gold_evidence"])


class Faulty:
    """A method with a defect of its own: a bug, or an error that it raises on purpose."""

    def __init__(self, error):
        self._error = error

    async def ingest(self, conversation):
        raise self._error


@pytest.mark.parametrize(
    "error", [DataError("odd"), ReplyInvalid("not_json"), ServiceBusy("gone"), KeyError("memory")]
)
async def test_an_error_of_a_method_costs_that_conversation_only(folder, monkeypatch, error):
    monkeypatch.setitem(REGISTRY, "faulty", lambda config, tools: Faulty(error))
    with scripted_server() as server:
        worker = worker_for(folder, server.base_url)
        built = await worker.do(Unit("faulty", "vera"))
        asked = await worker.do(Unit("faulty", "vera", 0))
        other = await worker.do(BUILD)
    assert (built.status, asked.status, other.status) == (FAILED, FAILED, DONE)
    assert type(error).__name__ in built.reason
    assert len(asked.unit.folder(folder).read("answers")) == 4


async def test_a_bug_of_a_method_is_told_with_its_place_and_its_traceback_is_in_the_log(
    folder, monkeypatch, caplog
):
    monkeypatch.setitem(REGISTRY, "faulty", lambda config, tools: Faulty(KeyError("memory")))
    with scripted_server() as server:
        built = await worker_for(folder, server.base_url).do(Unit("faulty", "vera"))
    assert re.fullmatch(
        r"MethodFault: KeyError: 'memory' \(test_work\.py, line \d+, in ingest\)", built.reason
    )
    assert "Traceback" in caplog.text and "raise self._error" in caplog.text


async def test_a_bug_of_the_harness_stops_the_run_and_names_the_method_and_the_conversation(folder):
    def broken():
        raise ZeroDivisionError("oops")

    with pytest.raises(ZeroDivisionError) as caught:
        await Worker(RunConfig(), folder, make_toolbox=broken).do(BUILD)
    assert caught.value.__notes__ == ["in the build unit of naive-rag on vera"]


@pytest.mark.parametrize("unit", [BUILD, ASK])
async def test_a_damaged_input_costs_that_conversation_only(folder, unit):
    path = folder.inputs("vera").file("gold" if unit.run is not None else "messages")
    path.write_bytes(path.read_bytes()[:-1])
    with scripted_server() as server:
        done = await worker_for(folder, server.base_url).do(unit)
    assert done.status == FAILED
    assert path.name in done.reason
