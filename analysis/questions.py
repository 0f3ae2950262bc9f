"""From answers and verdicts to one row per method and question.

Runs are averaged per question before anything else (MemSIF, Appendix D), so that a question counts once.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa

from memsif_ray.types import Category, Outcome

CATEGORIES: tuple[str, ...] = tuple(category.value for category in Category)
ADVERSARIAL = pl.col("category") == Category.ADVERSARIAL.value
"""Questions to abstain from stand in their own column and are part of no total."""
_OUTCOME, _FAILED = pl.col("outcome"), pl.col("answer").is_null()
_UNGRADED = _OUTCOME.is_null() & ~_FAILED


def scan(file: Path, schema: pa.Schema) -> pl.LazyFrame:
    """A Parquet file as a lazy table; empty when there is none.

    A column that an older file lacks is null, one that it has too many is left out.
    """
    empty = pl.LazyFrame(schema.empty_table())
    if not file.is_file():
        return empty
    known = empty.collect_schema()
    return pl.scan_parquet(file, schema=known, missing_columns="insert", extra_columns="ignore")


def scored_answers(answers: pl.LazyFrame, verdicts: pl.LazyFrame) -> pl.LazyFrame:
    """Answers with the verdicts of one judge profile beside them, and `score`: 1 right, 0 wrong, else null.

    A failed answer is wrong, whoever is to blame. It needs no judge, so while answers of its method and run
    wait for one it would weigh too much: of ten answers, two failed and eight ungraded, none would be right.
    Hence nothing of a method and run is scored while most of its answers wait; the few that a judge refuses
    for ever do not cost all others their score. Questions to abstain from, which are part of no total, wait
    for themselves. Where nobody graded at all, failed answers have no score either.
    """
    waiting, graded = _UNGRADED.sum(), _OUTCOME.is_not_null().sum()
    score = (
        pl.when((waiting > graded).over("method", "run", ADVERSARIAL))
        .then(None)
        .when(_FAILED & _OUTCOME.is_not_null().any())
        .then(0.0)
        .when(_OUTCOME.eq(Outcome.RIGHT.value))
        .then(1.0)
        .when(_OUTCOME.eq(Outcome.WRONG.value))
        .then(0.0)
    )
    return answers.join(verdicts, on=["run", "method", "question_id"], how="left").with_columns(score=score)


def per_question(answers: pl.LazyFrame, verdicts: pl.LazyFrame) -> pl.LazyFrame:
    """One row per method and question: means over its runs, and counts of the answers behind them.

    Columns: method, category, conversation_id, question_id; the means score, f1, evidence_recall and
    date_match, null without any value; the counts invalid (a judge's reply that nobody can read), ungraded
    (answered, but no verdict) and failures (no answer).
    """
    return (
        scored_answers(answers, verdicts)
        .group_by("method", "category", "conversation_id", "question_id")
        .agg(
            pl.col("score", "f1", "evidence_recall", "date_match").mean(),
            invalid=_OUTCOME.eq(Outcome.INVALID.value).sum(),
            ungraded=_UNGRADED.sum(),
            failures=_FAILED.sum(),
        )
    )
