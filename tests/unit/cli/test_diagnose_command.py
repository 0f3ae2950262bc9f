import json
import subprocess
import sys
from pathlib import Path

import pytest

from memsif_ray.cli.diagnosing import exit_code
from memsif_ray.clients.scripted_server import scripted_server
from memsif_ray.config import DataConfig
from memsif_ray.datasets import load
from memsif_ray.runtime.tasks import JobResult, TaskRecord
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.sealed import SealedFolder

ROOT = Path(__file__).parents[3]


def two_people(*said, evidence=(), **more):
    """A LoCoMo record with one session."""
    turns = [{"speaker": "AB"[n % 2], "dia_id": f"D1:{n + 1}", "text": text} for n, text in enumerate(said)]
    asked = {"question": "Who?", "answer": "Ann", "category": 1, "evidence": list(evidence)}
    sessions = {"session_1": turns, "session_1_date_time": "1:56 pm on 8 May, 2023"} if turns else {}
    return {"conversation": {"speaker_a": "A", "speaker_b": "B", **sessions}, "qa": [asked], **more}


@pytest.fixture
def file(tmp_path):
    """Conversations of eight, of two and of no messages; the first question needs its ids repaired."""
    path = tmp_path / "three.json"
    records = [
        two_people(*(f"word{n}" for n in range(8)), evidence=["D1:1; D1:8"], sample_id="eight"),
        two_people("hello", "there", evidence=["D1:1", "D1:2"], sample_id="two"),
        two_people(sample_id="none"),
    ]
    path.write_text(json.dumps(records))
    return path


def test_the_subset_can_be_run(memsif):
    shown = memsif("diagnose", "nce", "--json")
    assert shown.exit_code == 0, shown.stderr
    plain = json.loads(shown.stdout)
    ids = Path(plain["questions_file"]).read_text().split()
    assert len(ids) == plain["summary"]["bins"][2] > 0
    dataset = load(DataConfig(questions=tuple(ids)))
    assert [question.question_id for question in dataset.questions] == ids
    assert "nce_questions.txt" in shown.stderr and "report.html" in shown.stderr


def test_both_readings_are_offered_and_their_difference_told(memsif, file):
    strict = memsif("diagnose", "nce", "--data", file)
    repaired = memsif("diagnose", "nce", "--data", file, "--ids", "repaired")
    assert "strict ids" in strict.stdout.splitlines()[0]
    assert "repaired ids" in repaired.stdout.splitlines()[0]
    assert "see differently: 1" in strict.stdout and "enters NCE when repaired" in strict.stdout
    folders = {
        json.loads(memsif("diagnose", "nce", "--data", file, "--ids", reading, "--json").stdout)["folder"]
        for reading in ("strict", "repaired")
    }
    assert len(folders) == 2


def test_rows_and_pages_are_written(memsif, file):
    plain = json.loads(memsif("diagnose", "nce", "--data", file, "--json").stdout)
    folder = JobFolder(Path(plain["folder"]))
    rows = folder.tables.read("evidence_spreads").to_pylist()
    assert [(row["question_id"], row["ted"], row["reason"]) for row in rows] == [
        ("eight_q0", None, "no_evidence"),
        ("two_q0", 1.0, ""),
        ("none_q0", None, "no_evidence"),
    ]
    assert "<svg" in (folder.path / "report.html").read_text()
    assert (folder.path / "figures" / "ted-histogram.svg").is_file()


def test_what_needs_no_model_loads_neither_ray_nor_torch():
    code = (
        "import sys, analysis.diagnosis.pages, memsif_ray.runtime.diagnosis.model_free; print(*sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert "memsif_ray.diagnostics.corpus" in done.stdout
    assert not {"ray", "torch", "polars", "sentence_transformers"} & set(done.stdout.split())


def test_statistics_name_their_tokenizer(memsif, file):
    shown = memsif("diagnose", "stats", "--data", file)
    assert shown.exit_code == 0 and "cl100k_base" in shown.stdout
    plain = json.loads(memsif("diagnose", "stats", "--data", file, "--json").stdout)
    assert plain["summary"]["conversations"] == 3
    rows = JobFolder(Path(plain["folder"])).tables.read("history_statistics").to_pylist()
    assert [(row["messages"], row["days"], row["reason"]) for row in rows] == [
        (8, 0, ""),
        (2, 0, ""),
        (0, None, "no_messages"),
    ]


def test_a_malformed_conversation_is_named(memsif, tmp_path):
    (tmp_path / "bad.json").write_text(
        json.dumps([two_people("hi", sample_id="ok") | {"qa": [{"question": 1}]}])
    )
    for kind in ("nce", "stats"):
        result = memsif("diagnose", kind, "--data", tmp_path / "bad.json")
        assert result.exit_code == 2 and "record 0" in result.stderr


def test_the_released_file_prints_the_papers_numbers(memsif, data_dir):
    file = data_dir / "locomo" / "locomo10.json"
    if not file.is_file():
        pytest.skip(f"no {file}")
    shown = memsif("diagnose", "nce", "--data", file, "--ids", "strict")
    assert shown.exit_code == 0
    rows = [line.split() for line in shown.stdout.splitlines()]
    for row in (
        "with ≥ 2 evidence ids 409 409",
        "TED in [0, 0.1) 156 156",
        "TED in [0.1, 0.3) 67 67",
        "TED in [0.3, 1]: NCE 186 186",
        "NCE M-hop 152 (81.7%) 152 (81.7%)",
        "NCE Temp 12 (6.5%) 12 (6.5%)",
        "NCE Kno 22 (11.8%) 22 (11.8%)",
        "mean TED of NCE 0.581 0.581",
        "mean span of NCE 352.6 352.6",
    ):
        assert row.split() in rows


@pytest.mark.ray
def test_misalignment_of_short_conversations_is_measured_or_has_a_reason(memsif, file):
    with scripted_server() as server:
        options = ("--data", file, "--embedder", "hash-64", "--set", f"embedder.base_url={server.base_url}")
        first = memsif("diagnose", "tsm", *options, "--json")
    second = memsif("diagnose", "tsm", *options)  # the embedder is gone, and not missed
    assert first.exit_code == second.exit_code == 0, first.stderr
    assert "1 no_segments" in second.stdout and "nan" not in second.stdout.lower()
    assert "0 not done" in second.stderr
    folder = Path(json.loads(first.stdout)["folder"])
    tables = RunFolder(folder).tables
    assert len(tables.read("adjacent_pairs")) == 3  # eight messages make four segments
    measures = tables.read("tsm_measures").to_pylist()
    assert all((row["value"] is None) == bool(row["reason"]) for row in measures)
    samples = SealedFolder(folder / "samples", folder / "samples.json").read("pair_samples").to_pylist()
    assert {pair["kind"] for pair in samples} == {"adjacent", "neighbour"}
    assert {pair["conversation_id"] for pair in samples} == {"eight"}
    assert all("word" in pair["left_text"] for pair in samples)
    drawn = {path.name for path in (folder / "figures").iterdir()}
    assert drawn == {"asv-by-length.svg", "sntd-by-k.svg"}


@pytest.mark.parametrize(
    ("reasons", "code"),
    [
        (("", ""), 0),
        (("ServiceBusy: no reply", ""), 1),
        (("DataError: broken", "DataError: broken"), 1),
        (("ServiceBusy: no reply", "ServiceBusy: no reply"), 3),
    ],
)
def test_exit_codes_say_who_must_act(tmp_path, reasons, code):
    records = (
        TaskRecord(str(n), "failed" if reason else "done", reason=reason) for n, reason in enumerate(reasons)
    )
    assert exit_code(JobResult(JobFolder(tmp_path), tuple(records))) == code
