"""The README's promises with the real small model: the command line on Ray, and the three-line library."""

import json
import subprocess
import sys

import pytest

from memsif_ray import Memory

pytestmark = pytest.mark.model


def memsif(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "memsif_ray", *arguments],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


@pytest.mark.ray
def test_a_run_builds_asks_grades_and_is_a_no_op_the_second_time(tmp_path):
    command = (
        *("run", "--limit", "2", "--conversations", "ines-rowan", "--methods", "memsif,naive-rag"),
        *("--output", str(tmp_path), "--json"),
    )
    first = memsif(*command)
    assert first["failures"] == []
    scores = first["summary"]["scores"]
    assert {row["method"] for row in scores} == {"memsif", "naive-rag"}
    tables = {path.stem for path in (tmp_path).glob("*/tables/*.parquet")}
    assert {"messages", "segments", "trajectories", "answers", "verdicts", "calls"} <= tables
    assert list(tmp_path.glob("*/memories/memsif/*/vectors.parquet"))
    (manifest,) = tmp_path.glob("*/manifest.json")
    written = manifest.stat().st_mtime_ns
    assert memsif(*command) == first
    assert manifest.stat().st_mtime_ns == written


def test_a_memory_in_a_file_grows_by_what_is_new_and_moves(tmp_path):
    data = ("--data", str(tmp_path), "--json")
    story = tmp_path / "story.txt"
    story.write_text("I adopted a greyhound called Comet.\n")
    assert memsif("ingest", str(story), *data)["accepted"] == 1
    story.write_text("I adopted a greyhound called Comet.\nComet hates rain.\n")
    again = memsif("ingest", str(story), *data)
    assert (again["accepted"], again["duplicates"]) == (1, 1)
    assert "comet" in memsif("ask", "What is the greyhound called?", *data)["answer"].lower()
    bundle = tmp_path / "bundle.json"
    assert memsif("export", "--output", str(bundle), *data)["messages"] == 2
    elsewhere = ("--data", str(tmp_path / "elsewhere"), "--json")
    assert memsif("import", str(bundle), *elsewhere)["accepted"] == 2
    assert "Comet" in memsif("search", "rain", *elsewhere)["results"][0]["text"]


def test_the_library_answers_from_what_it_was_told():
    with Memory() as memory:
        memory.add(
            [
                {"name": "Rens", "content": "I adopted a greyhound called Comet.", "timestamp": "2024-02-01"},
                {"name": "Uma", "content": "Lovely! I am learning the oboe.", "timestamp": "2024-02-01"},
            ]
        )
        assert "comet" in memory.answer("What is the name of the greyhound that Rens adopted?").answer.lower()
