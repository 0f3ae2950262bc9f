"""The failure browser: answers that went wrong, each with what led to it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from analysis.page import Folded
from analysis.questions import scored_answers
from analysis.report.grids import percent
from analysis.report.study import Run, Study
from memsif_ray.text import truncate
from memsif_ray.types import Outcome

Row = dict[str, Any]
Subjects = dict[tuple[str, str], tuple[str, ...]]
"""What to look decisions up by, per method and question."""
_UNITS = {"segments": "segment_id", "fact_operations": "fact_id", "notes": "note_id"}
"""Tables of what memory makes of messages, and the column of its id."""
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
    subjects = _subjects(run, shown)
    decided = _decided(run, subjects)
    rows = [(study.name(row["method"], run), row) for row in shown.to_dicts()]
    rows.sort(key=lambda named: study.methods.index(named[0]))
    entries = [_entry(row, name, said, _decisions(row, subjects, decided)) for name, row in rows]
    return entries, wrong.height


def _wrong(run: Run, profile: str) -> pl.DataFrame:
    outcome = pl.col("outcome")
    failed = (
        pl.col("answer").is_null()
        | outcome.is_in([Outcome.WRONG.value, Outcome.INVALID.value])
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


def _subjects(run: Run, shown: pl.DataFrame) -> Subjects:
    """What decisions that led to an answer can be about, per method and question, the nearest first.

    These are the question, its gold messages, and whatever memory made of those. Some methods decide about
    many messages at once: MemSIF and Mem0 name such a decision after the first of them, SimpleMem after a
    window, whose number begins the ids of the notes that came of it.
    """
    made = _made_of(run, sorted({i for ids in shown["gold_evidence"] for i in ids}))
    found: Subjects = {}
    for row in shown.to_dicts():
        whose = row["method"], row["conversation_id"]
        units = [unit for i in row["gold_evidence"] for unit in made.get((*whose, i), ())]
        subjects = (row["question_id"], *row["gold_evidence"], *units)
        found[row["method"], row["question_id"]] = tuple(dict.fromkeys(subjects))
    return found


def _made_of(run: Run, gold: Sequence[str]) -> dict[tuple[str, str, str], list[str]]:
    """By method, conversation and gold message: the segments, facts and notes that hold it."""
    found: dict[tuple[str, str, str], list[str]] = {}
    for table, unit in _UNITS.items():
        held = (
            run.table(table)
            .select(
                "method", "conversation_id", unit, "message_ids", first=pl.col("message_ids").list.first()
            )
            .explode("message_ids")
            .filter(pl.col("message_ids").is_in(gold))
        )
        for method, conversation, name, message, first in held.collect().iter_rows():
            window = name.rpartition("_")[0]
            found.setdefault((method, conversation, message), []).extend((name, window, first))
    return found


def _decided(run: Run, subjects: Subjects) -> dict[tuple[str, str], list[Row]]:
    """Decisions by method and subject. Mem0 puts the speaker before it, whose memory it is."""
    wanted = sorted({subject for some in subjects.values() for subject in some})
    bare = pl.col("subject_id").str.replace("^[^/]*/", "")
    about = pl.when(pl.col("subject_id").is_in(wanted)).then("subject_id").otherwise(bare)
    found: dict[tuple[str, str], list[Row]] = {}
    rows = run.table("decisions").with_columns(about=about).filter(pl.col("about").is_in(wanted))
    for row in rows.collect().to_dicts():
        found.setdefault((row["method"], row["about"]), []).append(row)
    return found


def _entry(row: Row, name: str, said: Mapping[tuple[str, str], str], decisions: str) -> Folded:
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
        "Decisions": decisions,
    }
    title = (name, row["conversation_id"], row["category"], _word(row), row["question"])
    return Folded(" · ".join(title), [(term, _cut(text)) for term, text in pairs.items() if text])


def _word(row: Row) -> str:
    return "failed" if row["answer"] is None else row["outcome"] or "not graded"


def _verdict(row: Row) -> str:
    reason = f": {row['reason']}" if row["reason"] else ""
    return f"{row['outcome'] or 'not graded'}{reason}"


def _decisions(row: Row, subjects: Subjects, decided: Mapping[tuple[str, str], list[Row]]) -> str:
    lines = [
        _line(decision)
        for subject in subjects[row["method"], row["question_id"]]
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
