"""The failure browser: answers that went wrong, each with what led to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from analysis.page import Folded
from analysis.questions import scored_answers
from analysis.report.grids import percent
from analysis.report.study import Run, Study
from memsif_ray.text import truncate
from memsif_ray.types import Outcome

Row = dict[str, Any]
_LONGEST = 1200
_MOST_DECISIONS = 12
_ORDER = ("method", "conversation_id", "question_index", "run")


def failures(study: Study, run: Run, limit: int) -> tuple[list[Folded], int]:
    """At most `limit` failures of a run per method as entries to open, and how many there are in all.

    A failure is an answer that never came, one that was judged wrong or whose verdict nobody can read, and,
    where nobody judged, one that shares no word with the reference (F1 of 0).
    """
    wrong = _wrong(run, study.profile)
    shown = wrong.group_by("method", maintain_order=True).head(limit)
    said = _said(run, set(shown["conversation_id"]))
    decided = _decided(run, shown)
    rows = [(study.name(row["method"], run), row) for row in shown.to_dicts()]
    rows.sort(key=lambda named: study.methods.index(named[0]))
    entries = [_entry(row, name, said, decided) for name, row in rows]
    return entries, wrong.height


def _wrong(run: Run, profile: str) -> pl.DataFrame:
    outcome = pl.col("outcome")
    failed = (
        (pl.col("score") == 0)
        | pl.col("answer").is_null()
        | outcome.eq(Outcome.INVALID.value)
        | (outcome.is_null() & (pl.col("f1") == 0))
    )
    verdicts = run.table("verdicts").filter(pl.col("profile") == profile)
    return scored_answers(run.table("answers"), verdicts).filter(failed).sort(_ORDER).collect()


def _said(run: Run, conversations: set[str]) -> dict[tuple[str, str], str]:
    rows = run.table("messages").filter(pl.col("conversation_id").is_in(sorted(conversations))).collect()
    return {
        (row["conversation_id"], row["message_id"]): f"{row['speaker']}: {row['text']}"
        for row in rows.to_dicts()
    }


def _decided(run: Run, shown: pl.DataFrame) -> dict[tuple[str, str], list[Row]]:
    """Decisions by method and subject: about the questions shown and about their gold messages."""
    subjects = {*shown["question_id"], *(i for ids in shown["gold_evidence"] for i in ids)}
    found: dict[tuple[str, str], list[Row]] = {}
    for row in (
        run.table("decisions").filter(pl.col("subject_id").is_in(sorted(subjects))).collect().to_dicts()
    ):
        found.setdefault((row["method"], row["subject_id"]), []).append(row)
    return found


def _entry(
    row: Row, name: str, said: Mapping[tuple[str, str], str], decided: Mapping[tuple[str, str], list[Row]]
) -> Folded:
    evidence = [
        f"{i}: {said.get((row['conversation_id'], i), 'not in the data')}" for i in row["gold_evidence"]
    ]
    pairs = {
        "Question": f"{row['question']} ({row['question_id']}, run {row['run']})",
        "Gold answer": row["gold_answer"],
        "Gold evidence": "\n".join(evidence),
        "Answer": row["answer"] if row["answer"] is not None else f"none: {row['error']}",
        "Verdict": _verdict(row),
        "F1": percent(row["f1"]),
        "Evidence recall": percent(row["evidence_recall"]),
        "Context": f"{row['context_tokens']:,} tokens, {row['context_items']} lines\n{row['context']}",
        "Decisions": _decisions(row, decided),
    }
    title = (name, row["conversation_id"], row["category"], _word(row), row["question"])
    return Folded(" · ".join(title), [(term, _cut(text)) for term, text in pairs.items() if text])


def _word(row: Row) -> str:
    return "failed" if row["answer"] is None else row["outcome"] or "not graded"


def _verdict(row: Row) -> str:
    reason = f": {row['reason']}" if row["reason"] else ""
    return f"{row['outcome'] or 'not graded'}{reason}"


def _decisions(row: Row, decided: Mapping[tuple[str, str], list[Row]]) -> str:
    lines = [
        _line(decision)
        for subject in (row["question_id"], *row["gold_evidence"])
        for decision in decided.get((row["method"], subject), [])
        if decision["conversation_id"] == row["conversation_id"] and decision["run"] in (None, row["run"])
    ]
    return "\n".join(_bounded(lines))


def _line(decision: Row) -> str:
    score = "" if decision["score"] is None else f", score {decision['score']:.3f}"
    detail = f" ({decision['detail']})" if decision["detail"] else ""
    return (
        f"{decision['kind']} of {decision['subject_id']}: {decision['outcome']} "
        f"by {decision['decided_by']}{score}{detail}"
    )


def _bounded(lines: list[str]) -> Iterable[str]:
    left = len(lines) - _MOST_DECISIONS
    return [*lines[:_MOST_DECISIONS], *([f"… and {left} more"] if left > 0 else [])]


def _cut(text: str) -> str:
    kept = truncate(text, _LONGEST)
    return kept if kept == text else f"{kept} …"
