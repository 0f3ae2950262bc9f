"""From the rows of a finished run to its summary: accuracy, cost, and how sure we are of a difference.

Runs are averaged per question before anything else (MemSIF, Appendix D), so that a question counts once.
Questions to abstain from stand in their own row and are part of no total.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pyarrow as pa

from analysis.intervals import SEED, cluster_bootstrap, stratified_bootstrap
from memsif_ray.schemas import ANSWERS, CALLS, VERDICTS
from memsif_ray.types import Category, Outcome

TOTAL = "Total"
CATEGORIES: tuple[str, ...] = tuple(category.value for category in Category)
_ADVERSARIAL = pl.col("category") == Category.ADVERSARIAL.value
_OUTSIDE_COST = ("judge", "embed")
"""Stages that Appendix H leaves out of a method's cost; they are reported beside it."""


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run found, in long form.

    Attributes:
        scores: One row per method and category, and per method a `Total` without adversarial questions:
            method, category, n, scored, acc, f1, evidence_recall, invalid, ungraded, failures. `acc`,
            `f1` and `evidence_recall` are means over the questions that have a score, null when none has;
            `n` and `scored` count questions; `invalid`, `ungraded` and `failures` count answers.
        costs: One row per method, everything per question asked: tokens, model_s (both: construction,
            retrieval and answer), wall_s (retrieval and answer), judge_tokens, judge_s, embedded_texts,
            embed_s. `unmetered` counts replies whose server gave no token usage.
        gains: One row per other method: accuracy of the reference minus its own, over the n questions
            that both have a score for; point, low, high, flag, skipped as in
            [`Interval`][analysis.intervals.Interval].
    """

    scores: pl.DataFrame
    costs: pl.DataFrame
    gains: pl.DataFrame

    def as_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Plain data, for JSON."""
        return {
            "scores": self.scores.to_dicts(),
            "costs": self.costs.to_dicts(),
            "gains": self.gains.to_dicts(),
        }


def read_summary(
    run: Path, *, reference: str = "memsif", profile: str = "memsif", stratified: bool = False
) -> Summary:
    """The summary of a run folder, from the answers, verdicts and calls in its `tables/`.

    A missing file is an empty table: a run that was not graded has no verdicts.
    """
    tables = run / "tables"
    return summarise(
        scan(tables / "answers.parquet", ANSWERS),
        scan(tables / "verdicts.parquet", VERDICTS),
        scan(tables / "calls.parquet", CALLS),
        reference=reference,
        profile=profile,
        stratified=stratified,
    )


def scan(file: Path, schema: pa.Schema) -> pl.LazyFrame:
    """A Parquet file as a lazy table; empty when there is none."""
    return pl.scan_parquet(file) if file.is_file() else pl.LazyFrame(schema.empty_table())


def summarise(
    answers: pl.LazyFrame,
    verdicts: pl.LazyFrame,
    calls: pl.LazyFrame,
    *,
    reference: str = "memsif",
    profile: str = "memsif",
    stratified: bool = False,
) -> Summary:
    """Scores, costs and gains of one run.

    Args:
        answers: Rows of `schemas.ANSWERS`.
        verdicts: Rows of `schemas.VERDICTS`.
        calls: Rows of `schemas.CALLS`.
        reference: Method whose gain over each other method is computed.
        profile: Judge profile to read; verdicts of two profiles are never mixed.
        stratified: Resample questions within categories (LongMemEval) instead of whole conversations.
    """
    questions = _per_question(answers, verdicts.filter(pl.col("profile") == profile))
    scores, costs, pairs = pl.collect_all(
        [_scores(questions), _costs(answers, calls), _pairs(questions, reference)]
    )
    return Summary(scores, costs, _gains(pairs, stratified=stratified))


def _per_question(answers: pl.LazyFrame, verdicts: pl.LazyFrame) -> pl.LazyFrame:
    outcome = pl.col("outcome")
    right = pl.when(outcome == Outcome.RIGHT.value).then(1.0).when(outcome == Outcome.WRONG.value).then(0.0)
    return (
        answers.join(verdicts, on=["run", "method", "question_id"], how="left")
        .group_by("method", "category", "conversation_id", "question_id")
        .agg(
            score=right.mean(),
            f1=pl.col("f1").mean(),
            evidence_recall=pl.col("evidence_recall").mean(),
            invalid=(outcome == Outcome.INVALID.value).sum(),
            ungraded=outcome.null_count(),
            failures=pl.col("answer").null_count(),
        )
    )


def _scores(questions: pl.LazyFrame) -> pl.LazyFrame:
    total = questions.filter(~_ADVERSARIAL).with_columns(category=pl.lit(TOTAL))
    order = pl.Enum([*CATEGORIES, TOTAL])
    return (
        pl.concat([questions, total])
        .group_by("method", "category")
        .agg(
            n=pl.len(),
            scored=pl.col("score").count(),
            acc=pl.col("score").mean(),
            f1=pl.col("f1").mean(),
            evidence_recall=pl.col("evidence_recall").mean(),
            invalid=pl.col("invalid").sum(),
            ungraded=pl.col("ungraded").sum(),
            failures=pl.col("failures").sum(),
        )
        .sort("method", pl.col("category").cast(order))
    )


def _costs(answers: pl.LazyFrame, calls: pl.LazyFrame) -> pl.LazyFrame:
    """Appendix H: all that a method's model calls cost, over the number of questions asked."""
    asked = answers.group_by("method").agg(questions=pl.len(), wall_s=pl.col("seconds").sum())
    own = ~pl.col("stage").is_in(_OUTSIDE_COST)
    judge, embed = pl.col("stage") == "judge", pl.col("stage") == "embed"
    used = pl.col("prompt_tokens").cast(pl.Int64) + pl.col("completion_tokens")
    replied = ~pl.col("outcome").str.starts_with("error:")
    spent = calls.group_by("method").agg(
        tokens=used.filter(own).sum(),
        model_s=pl.col("latency_s").filter(own).sum(),
        judge_tokens=used.filter(judge).sum(),
        judge_s=pl.col("latency_s").filter(judge).sum(),
        embedded_texts=pl.col("texts").filter(embed).sum(),
        embed_s=pl.col("latency_s").filter(embed).sum(),
        unmetered=(~embed & replied & used.is_null()).sum(),
    )
    per_question = ("tokens", "model_s", "wall_s", "judge_tokens", "judge_s", "embedded_texts", "embed_s")
    return (
        asked.join(spent, on="method", how="left")
        .with_columns(
            pl.col(*per_question).fill_null(0) / pl.col("questions"), pl.col("unmetered").fill_null(0)
        )
        .select("method", "questions", *per_question, "unmetered")
        .sort("method")
    )


def _pairs(questions: pl.LazyFrame, reference: str) -> pl.LazyFrame:
    """Per other method and question: the reference's score minus its own; null without a pair."""
    asked = questions.filter(~_ADVERSARIAL).select(
        "method", "category", "conversation_id", "question_id", "score"
    )
    ours = asked.filter(pl.col("method") == reference).select("question_id", ours="score")
    return (
        asked.filter(pl.col("method") != reference)
        .join(ours, on="question_id")
        .with_columns(gain=pl.col("ours") - pl.col("score"))
        .sort("method", "conversation_id", "question_id")
    )


def _gains(pairs: pl.DataFrame, *, stratified: bool) -> pl.DataFrame:
    bootstrap, group = (
        (stratified_bootstrap, "category") if stratified else (cluster_bootstrap, "conversation_id")
    )
    rows = []
    for k, ((method,), part) in enumerate(pairs.group_by("method", maintain_order=True), start=1):
        gains = part["gain"].fill_null(float("nan")).to_numpy()
        rows.append({"method": method, **asdict(bootstrap(gains, part[group].to_list(), seed=SEED + k))})
    kinds = {"n": pl.Int64, "point": pl.Float64, "low": pl.Float64, "high": pl.Float64, "flag": pl.String}
    return pl.DataFrame(rows, schema={"method": pl.String, **kinds, "skipped": pl.Int64})
