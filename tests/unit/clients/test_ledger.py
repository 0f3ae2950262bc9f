import json
import os
import signal
import subprocess
import sys
from dataclasses import fields, replace

import pyarrow as pa
import pytest

from memsif_ray.clients.ledger import Call, Ledger
from memsif_ray.errors import DataError
from memsif_ray.schemas import CALLS

ROW = Call(
    call_key="k",
    occurrence=0,
    stage="answer",
    method="memsif",
    conversation_id="conv-1",
    question_id="q1",
    run=0,
    model="m",
    content='tea 茶 \ud800 \u2028 "quoted"\r\n',
)


def keys(ledger):
    return [(row.call_key, row.occurrence) for row in ledger.rows()]


def test_rows_are_the_columns_of_the_table():
    assert [column.name for column in fields(Call)] == CALLS.names
    plain = replace(ROW, content="tea")
    table = pa.Table.from_pylist([{name: getattr(plain, name) for name in CALLS.names}], schema=CALLS)
    assert table.to_pylist()[0]["outcome"] == "ok"


def test_rows_come_back_as_they_were_written(tmp_path):
    path = tmp_path / "deep" / "calls.jsonl"
    with Ledger(path) as ledger:
        ledger.append(ROW)
    assert path.read_bytes().count(b"\n") == 1
    with Ledger(path) as ledger:
        assert ledger.rows() == [ROW]
        assert ledger.finished("k", 0) == ROW
        assert ledger.finished("k", 1) is None


def test_order_does_not_depend_on_who_finished_first(tmp_path):
    rows = [
        replace(ROW, question_id=question, stage=stage, call_key=key, occurrence=occurrence)
        for question in ("", "q1", "q2")
        for stage in ("answer", "judge")
        for key in (f"{question}{stage}a", f"{question}{stage}b")
        for occurrence in (0, 1)
    ]
    with Ledger(tmp_path / "a") as one, Ledger(tmp_path / "b") as other:
        for row in rows:
            one.append(row)
        for row in reversed(rows):
            other.append(row)
        assert one.rows() == other.rows() == rows


def test_a_failure_is_a_row_that_is_not_replayed_and_gives_way(tmp_path):
    path = tmp_path / "calls"
    with Ledger(path) as ledger:
        ledger.append(replace(ROW, outcome="error:ServiceBusy", content=None))
        assert ledger.finished("k", 0) is None
        ledger.append(ROW)
    with Ledger(path) as ledger:
        assert ledger.rows() == [ROW]
    assert path.read_bytes().count(b"\n") == 2


@pytest.mark.parametrize("tail", [b'{"call_key": "k2", "occ', b"\0\0\0\0", b"\0\0\n", b"[]", b"{}"])
def test_an_unfinished_last_line_is_cut_off_before_appending(tmp_path, tail):
    path = tmp_path / "calls"
    with Ledger(path) as ledger:
        ledger.append(ROW)
    with path.open("ab") as file:
        file.write(tail)
    with Ledger(path) as ledger:
        assert keys(ledger) == [("k", 0)]
        ledger.append(replace(ROW, occurrence=1))
    with Ledger(path) as ledger:
        assert keys(ledger) == [("k", 0), ("k", 1)]


def test_a_whole_row_without_its_line_end_counts_as_unfinished(tmp_path):
    path = tmp_path / "calls"
    with Ledger(path) as ledger:
        ledger.append(ROW)
    path.write_bytes(path.read_bytes()[:-1])
    with Ledger(path) as ledger:
        assert ledger.rows() == []
    assert path.read_bytes() == b""


def test_damage_before_the_end_is_reported_with_file_and_line(tmp_path):
    path = tmp_path / "calls"
    with Ledger(path) as ledger:
        ledger.append(ROW)
        ledger.append(replace(ROW, occurrence=1))
    path.write_bytes(b"garbage\n" + path.read_bytes())
    with pytest.raises(DataError, match=r"calls, line 1: not a ledger row"):
        Ledger(path)


WRITER = """
import asyncio, sys
from pathlib import Path
from memsif_ray.clients.ledger import Ledger
from memsif_ray.clients.metering import MeteredChat
from memsif_ray.clients.scripted import ScriptedChat
from memsif_ray.types import ChatRequest

async def main():
    with Ledger(Path(sys.argv[1])) as ledger:
        chat = MeteredChat(ScriptedChat(lambda request: "tea " * 5000), ledger, model_name="m")
        for number in range(1_000_000):
            await chat.complete(ChatRequest("answer", "s", f"question {number}", 64))
            if number == 20:
                print("going", flush=True)

asyncio.run(main())
"""


def test_a_killed_writer_loses_at_most_the_row_being_written(tmp_path):
    path = tmp_path / "calls"
    child = subprocess.Popen([sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE)
    assert child.stdout.readline() == b"going\n"
    os.kill(child.pid, signal.SIGKILL)
    assert child.wait() == -signal.SIGKILL
    child.stdout.close()
    whole = path.read_bytes().count(b"\n")
    with Ledger(path) as ledger:
        assert len(ledger.rows()) == whole > 20
        assert all(row.content == "tea " * 5000 for row in ledger.rows())
    assert all(json.loads(line) for line in path.read_bytes().splitlines())


def test_occurrences_count_from_zero_each_time_the_ledger_is_opened(tmp_path):
    for _ in range(2):
        with Ledger(tmp_path / "calls") as ledger:
            assert [ledger.next_occurrence(key) for key in ("a", "b", "a")] == [0, 0, 1]
            ledger.append(replace(ROW, call_key="a"))
