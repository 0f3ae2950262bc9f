"""Finished runs of any size, written without running anything."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from memsif_ray.schemas import TABLES
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.tables import encode

Row = dict[str, Any]


def _blank(kind: pa.DataType) -> Any:
    if pa.types.is_string(kind):
        return ""
    return [] if pa.types.is_list(kind) else pa.scalar(0).cast(kind).as_py()


def complete(table: str, row: Row) -> Row:
    """The row with every column it does not name blank, or null where that may be."""
    schema = TABLES[table]
    return {f.name: None if f.nullable else _blank(f.type) for f in schema if f.name not in row} | row


def written(root: Path, name: str, rows: Mapping[str, Sequence[Row]], config: Row | None = None) -> Path:
    """Write a run folder from the rows of its tables and its configuration; returns the folder."""
    folder = RunFolder(root / name)
    needed = ("conversations", "messages", "questions", "gold", "answers", "verdicts", "calls")
    tables = {
        table: [encode([complete(table, row) for row in rows.get(table, [])], TABLES[table])]
        for table in (*needed, *rows, "decisions", "units")
    }
    failed = any(row["answer"] is None for row in rows.get("answers", []))
    folder.tables.write(tables, {"complete": not failed})
    (folder.path / "config.yaml").write_text(yaml.safe_dump(config or {}))
    return folder.path


@pytest.fixture
def write_run(tmp_path) -> Callable[..., Path]:
    """`written` into a folder of this test."""
    return partial(written, tmp_path / "runs")


def small_run(
    methods: Mapping[str, str], *, dataset: str = "locomo", failed: str = "", graded: bool = True
) -> dict[str, list[Row]]:
    """Rows of a run of four questions in conversations a and b, the last of them adversarial.

    Args:
        methods: Per method the verdict on each question: r(ight), w(rong) or i(nvalid).
        dataset: Of the conversations.
        failed: Questions without an answer, as digits.
        graded: Whether anybody judged.
    """
    words = {"r": "right", "w": "wrong", "i": "invalid"}
    categories = ["S-hop", "Temp", "S-hop", "Adv"]
    where = ["a", "a", "b", "b"]
    rows: dict[str, list[Row]] = {
        "conversations": [{"conversation_id": c, "dataset": dataset} for c in "ab"],
        "messages": [
            {"conversation_id": c, "message_id": "D1:1", "speaker": "Ann", "text": "I live in <Ghent>."}
            for c in "ab"
        ],
        **{name: [] for name in ("answers", "verdicts", "calls", "decisions")},
    }
    for method, outcomes in methods.items():
        for n, outcome in enumerate(outcomes):
            whose = {"method": method, "conversation_id": where[n], "run": 0}
            lost = str(n) in failed
            text = {"answer": None, "error": "ServiceBusy: no reply"} if lost else {"answer": f"answer {n}"}
            rows["answers"].append(
                {**whose, "question_id": f"q{n}", "question_index": n, "category": categories[n], **text}
                | {"question": f"What & why {n}?", "gold_answer": "Ghent", "gold_evidence": ["D1:1"]}
                | {"context": "[2023] Ann: I live in <Ghent>.", "order": n, "seconds": 1.0}
            )
            rows["verdicts"].append(
                {"method": method, "question_id": f"q{n}", "profile": "memsif", "run": 0}
                | {"outcome": words[outcome] if graded and not lost else None, "reason": "names a place"}
                | {"f1": {"r": 1.0, "w": 0.25, "i": 0.5}[outcome], "evidence_recall": 1.0}
            )
            rows["calls"].append(
                {**whose, "question_id": f"q{n}", "stage": "answer", "model": "m", "prompt_id": "answer"}
                | {"prompt_tokens": 90, "completion_tokens": 10, "latency_s": 0.5, "outcome": "ok"}
            )
            rows["decisions"].append(
                {**whose, "kind": "sufficiency", "subject_id": f"q{n}", "outcome": "insufficient"}
                | {"decided_by": "rule", "score": 0.25, "detail": "no facts"}
            )
    return rows
