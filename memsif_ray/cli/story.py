"""The whole story of one question, put together from the tables of a run."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsif_ray.errors import ConfigError
from memsif_ray.storage.runs import RunFolder

Row = dict[str, Any]
_CALL = (
    "stage",
    "model",
    "prompt_tokens",
    "completion_tokens",
    "latency_s",
    "outcome",
    "attempts",
    "content",
)
_STAGES = ("embed", "sufficiency", "distil", "answer", "promote", "judge")
_OPERATION = ("op", "fact_id", "track", "subject", "statement", "decided_by", "reason")
_CLUSTER = ("cluster_id", "subject", "statements", "queries", "sources", "promoted_fact_id")
_DECISION = ("kind", "outcome", "decided_by", "score", "detail")
_LINE = ("item_id", "kind", "text", "message_ids", "score")


class RunTables:
    """The merged tables of one run as rows; each table is read once."""

    def __init__(self, folder: RunFolder) -> None:
        """Read nothing yet."""
        self._folder = folder
        self._read: dict[str, list[Row]] = {}

    def rows(self, name: str, **where: Any) -> list[Row]:
        """Rows of a table in which every named column has the given value."""
        if name not in self._read:
            self._read[name] = self._folder.tables.read(name).to_pylist()
        return [row for row in self._read[name] if all(row[key] == value for key, value in where.items())]


def tell(tables: RunTables, question_id: str, *, method: str | None = None) -> Row:
    """Everything the run knows about one question, as plain data.

    Args:
        tables: Of the run.
        question_id: Which question.
        method: Tell of this method only; None = all.

    Raises:
        ConfigError: When the run has no such question, or never asked it to that method.
    """
    found = tables.rows("questions", question_id=question_id)
    if not found:
        some = ", ".join(row["question_id"] for row in tables.rows("questions")[:10])
        raise ConfigError(f"the run has no question {question_id!r}; its first are {some}")
    answers = [
        a for a in tables.rows("answers", question_id=question_id) if method is None or a["method"] == method
    ]
    if not answers:
        raise ConfigError(f"{method or 'nobody'} was asked {question_id!r}")
    question = found[0]
    said = {
        row["message_id"]: row for row in tables.rows("messages", conversation_id=question["conversation_id"])
    }
    (gold,) = tables.rows("gold", question_id=question_id)
    return {
        "question_id": question_id,
        "conversation_id": question["conversation_id"],
        "category": question["category"],
        "question": question["text"],
        "asked_at": question["asked_at"],
        "gold": {
            "answer": gold["answer"],
            "abstain": gold["abstain"],
            "evidence": [_message(message_id, said) for message_id in gold["evidence"]],
        },
        "attempts": [_attempt(tables, answer, said) for answer in answers],
    }


def _attempt(tables: RunTables, answer: Row, said: Mapping[str, Row]) -> Row:
    question_id = answer["question_id"]
    whose = {"method": answer["method"], "run": answer["run"]}
    verdicts = tables.rows("verdicts", question_id=question_id, **whose)
    gold = set(answer["gold_evidence"])
    return {
        **whose,
        "order": answer["order"],
        "answer": answer["answer"],
        "error": answer["error"],
        "verdict": {
            key: verdicts[0][key] for key in ("outcome", "reason", "f1", "evidence_recall", "abstained")
        }
        if verdicts
        else None,
        "decisions": _chosen(tables.rows("decisions", subject_id=question_id, **whose), _DECISION),
        "context": _chosen(tables.rows("retrievals", question_id=question_id, **whose), _LINE),
        "context_tokens": answer["context_tokens"],
        "retrieved": [
            {"rank": rank, **_message(message_id, said), "is_gold": message_id in gold}
            for rank, message_id in enumerate(answer["retrieved_ids"], start=1)
        ],
        "seconds": answer["seconds"],
        "calls": _calls(tables.rows("calls", question_id=question_id, **whose)),
        "changes": _changes(tables, question_id, {**whose, "conversation_id": answer["conversation_id"]}),
    }


def _calls(rows: list[Row]) -> list[Row]:
    """In the order in which a question goes through the stages; the table is sorted otherwise."""
    stages = {stage: place for place, stage in enumerate(_STAGES)}
    return _chosen(sorted(rows, key=lambda row: stages.get(row["stage"], len(stages))), _CALL)


def _changes(tables: RunTables, question_id: str, whose: Row) -> Row:
    """Facts written and candidates grown by evidence that this question brought up."""
    operations = [r for r in tables.rows("fact_operations", **whose) if question_id in r["query_ids"]]
    clusters = [r for r in tables.rows("clusters", **whose) if question_id in r["query_ids"]]
    return {
        "fact_operations": _chosen(operations, _OPERATION),
        "clusters": _chosen(clusters, _CLUSTER),
    }


def _chosen(rows: list[Row], columns: tuple[str, ...]) -> list[Row]:
    return [{column: row[column] for column in columns} for row in rows]


def _message(message_id: str, said: Mapping[str, Row]) -> Row:
    row = said.get(message_id, {})
    return {
        "message_id": message_id,
        "speaker": row.get("speaker", ""),
        "text": row.get("text", ""),
        "timestamp": row.get("timestamp"),
    }
