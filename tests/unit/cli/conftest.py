"""A finished run of two questions, written without running anything, and a way to call commands."""

from datetime import datetime
from pathlib import Path

import pytest
from typer.testing import CliRunner

from memsif_ray.cli import app
from memsif_ray.schemas import TABLES
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.tables import encode

WHEN = datetime(2024, 5, 1, 9)
WHOSE = {"method": "memsif", "conversation_id": "c1", "run": 0}
_ANSWER = WHOSE | {
    "question_index": 0,
    "order": 0,
    "category": "S-hop",
    "question": "Where does Ann live?",
    "error": "",
    "gold_answer": "Ghent",
    "gold_evidence": ["D1:1"],
    "context": "a line",
    "context_tokens": 12,
    "context_items": 1,
    "context_message_ids": ["D1:1"],
    "retrieved_ids": ["D1:2", "D1:1"],
    "seconds": 0.5,
}
_CALL = WHOSE | {
    "call_key": "k",
    "occurrence": 0,
    "model": "scripted",
    "prompt_id": "answer",
    "prompt_fingerprint": "f",
    "texts": 0,
    "prompt_tokens": 70,
    "completion_tokens": 3,
    "latency_s": 0.1,
    "finish_reason": "stop",
    "outcome": "ok",
    "attempts": 1,
    "error": "",
    "content": "Ghent",
    "mean_logprob": None,
}
_FACT = WHOSE | {
    "seq": 0,
    "op": "Promote",
    "fact_id": "active_00000",
    "track": "active",
    "subject": "Ann",
    "type": "",
    "attribute": "",
    "statement": "Ann lives in Ghent.",
    "message_ids": ["D1:1"],
    "segment_ids": [],
    "ingested_at": WHEN,
    "event_time": None,
    "valid_from": WHEN,
    "valid_to": None,
    "status": "active",
    "replaced_by": None,
    "query_ids": ["q0", "q1"],
    "targets": [],
    "decided_by": "rule",
    "reason": "Score_src 0.500, Score_qry 0.500",
}
_VERDICT = {
    "run": 0,
    "method": "memsif",
    "profile": "memsif",
    "reason": "",
    "abstained": False,
    "date_match": None,
}
_ROWS = {
    "conversations": [{"conversation_id": "c1", "dataset": "locomo", "speakers": ["Ann", "Bo"]}],
    "messages": [
        {
            "conversation_id": "c1",
            "message_id": f"D1:{n}",
            "position": n - 1,
            "session": 1,
            "speaker": speaker,
            "text": text,
            "timestamp": WHEN,
            "caption": None,
            "role": "user",
        }
        for n, (speaker, text) in enumerate(
            [("Ann", "I live in [bold]Ghent[/bold]."), ("Bo", "Nice!")], start=1
        )
    ],
    "questions": [
        {
            "conversation_id": "c1",
            "question_id": f"q{n}",
            "index": n,
            "text": "Where does Ann live?",
            "category": "S-hop",
            "asked_at": None,
        }
        for n in (0, 1)
    ],
    "gold": [
        {"question_id": f"q{n}", "answer": "Ghent", "evidence": ["D1:1"], "trap": None, "abstain": False}
        | {"kind": "", "explanation": ""}
        for n in (0, 1)
    ],
    "answers": [
        _ANSWER | {"question_id": "q0", "answer": "Ghent"},
        _ANSWER | {"question_id": "q1", "answer": None, "error": "ServiceBusy: no reply within 20 s"},
    ],
    "verdicts": [
        _VERDICT | {"question_id": "q0", "outcome": "right", "f1": 1.0, "evidence_recall": 1.0},
        _VERDICT | {"question_id": "q1", "outcome": None, "f1": 0.0, "evidence_recall": 1.0},
    ],
    "decisions": [
        WHOSE
        | {
            "kind": "sufficiency",
            "subject_id": "q0",
            "outcome": "insufficient",
            "decided_by": "rule",
            "score": 0.25,
            "detail": "no facts",
        }
    ],
    "retrievals": [
        WHOSE
        | {
            "question_id": "q0",
            "rank": 0,
            "item_id": "ev_000",
            "kind": "evidence",
            "text": "[2024-05-01] Ann: I live in Ghent.",
            "message_ids": ["D1:1"],
            "timestamp": WHEN,
            "score": 1.0,
        }
    ],
    "calls": [_CALL | {"question_id": "q0", "stage": stage} for stage in ("judge", "answer")],
    "fact_operations": [_FACT, _FACT | {"seq": 1, "fact_id": "active_00001", "query_ids": ["q1"]}],
    "clusters": [
        WHOSE
        | {
            "cluster_id": "cand_00000",
            "subject": "Ann",
            "statements": ["Ann lives in Ghent."],
            "query_ids": ["q0", "q1"],
            "queries": ["Where?", "Where now?"],
            "sources": ["seg_00000", "seg_00001"],
            "message_ids": ["D1:1"],
            "first_seen": WHEN,
            "last_seen": WHEN,
            "promoted_fact_id": "active_00000",
        }
    ],
    "units": [
        WHOSE | {"stage": "build", "run": None, "status": "done", "failed": 0, "reason": "", "seconds": 1.0},
        WHOSE
        | {"stage": "ask", "status": "incomplete", "failed": 1, "reason": "ServiceBusy: x", "seconds": 1.0},
    ],
}


@pytest.fixture(autouse=True)
def own_places(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("COLUMNS", "200")
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def finished(tmp_path) -> Path:
    """`runs/locomo-abc123`, whose second question failed."""
    folder = RunFolder(tmp_path / "runs" / "locomo-abc123")
    tables = {name: [encode(rows, TABLES[name])] for name, rows in _ROWS.items()}
    folder.tables.write(tables, {"complete": False})
    return folder.path


@pytest.fixture
def memsif():
    """Call the command line in this process: exit code, stdout, stderr."""
    return lambda *arguments: CliRunner().invoke(app, [str(argument) for argument in arguments])
