"""Accuracy per method and category, how it varies between runs, and under which judge."""

from __future__ import annotations

import polars as pl

from analysis.questions import ADVERSARIAL, CATEGORIES, per_question, scored_answers
from memsif_ray.statistics.intervals import wilson

TOTAL = "Total"
_ORDER = pl.Enum([*CATEGORIES, TOTAL])


def category_scores(questions: pl.LazyFrame) -> pl.LazyFrame:
    """One row per method and category, and per method a `Total` without adversarial questions.

    Args:
        questions: From [`per_question`][analysis.questions.per_question].
    """
    total = questions.filter(~ADVERSARIAL).with_columns(category=pl.lit(TOTAL))
    return (
        pl.concat([questions, total])
        .group_by("method", "category")
        .agg(
            n=pl.len(),
            scored=pl.col("score").count(),
            acc=pl.col("score").mean(),
            f1=pl.col("f1").mean(),
            evidence_recall=pl.col("evidence_recall").mean(),
            date_match=pl.col("date_match").mean(),
            invalid=pl.col("invalid").sum(),
            ungraded=pl.col("ungraded").sum(),
            failures=pl.col("failures").sum(),
        )
        .sort("method", pl.col("category").cast(_ORDER))
    )


def with_wilson(scores: pl.DataFrame) -> pl.DataFrame:
    """The same rows with `acc_low` and `acc_high`: a Wilson interval per cell, null where nothing is scored.

    A question counts as one trial however many runs were averaged, because its runs are not independent.
    """
    ends = [
        wilson(row["acc"] * row["scored"], row["scored"]) if row["scored"] else None
        for row in scores.iter_rows(named=True)
    ]
    return scores.with_columns(
        pl.Series(name, [end and end[place] for end in ends], dtype=pl.Float64)
        for place, name in enumerate(("acc_low", "acc_high"))
    )


def between_runs(answers: pl.LazyFrame, verdicts: pl.LazyFrame) -> pl.LazyFrame:
    """How the runs of a method differ: one row per method that ran more than once.

    Columns: method; runs; orders, the number of different question orders among them (more than one: the
    spread is order sensitivity too); mean, sd (of n - 1), low and high over the runs' ACC, null without
    verdicts; the same over F1, as f1_mean and so on. Adversarial questions are left out.
    """
    asked = scored_answers(answers, verdicts)
    orders = (
        asked.group_by("method", "run")
        .agg(pl.col("question_id").sort_by("conversation_id", "order"))
        .group_by("method")
        .agg(orders=pl.col("question_id").n_unique())
    )
    spreads = [
        expression
        for column, prefix in (("score", ""), ("f1", "f1_"))
        for expression in _spread(column, prefix)
    ]
    return (
        asked.filter(~ADVERSARIAL)
        .group_by("method", "run")
        .agg(pl.col("score", "f1").mean())
        .group_by("method")
        .agg(*spreads, runs=pl.len())
        .filter(pl.col("runs") > 1)
        .join(orders, on="method")
        .select("method", "runs", "orders", pl.exclude("method", "runs", "orders"))
        .sort("method")
    )


def _spread(column: str, prefix: str) -> list[pl.Expr]:
    value = pl.col(column)
    named = {"mean": value.mean(), "sd": value.std(), "low": value.min(), "high": value.max()}
    return [expression.alias(prefix + name) for name, expression in named.items()]


def by_profile(answers: pl.LazyFrame, verdicts: pl.LazyFrame) -> pl.DataFrame:
    """`Total` and adversarial rows under every judge profile: the columns of scores, and `profile` first."""
    profiles = verdicts.select(pl.col("profile").unique().sort()).collect()["profile"].to_list()
    tables = [
        category_scores(per_question(answers, verdicts.filter(pl.col("profile") == profile)))
        .filter((pl.col("category") == TOTAL) | ADVERSARIAL)
        .select(pl.lit(profile).alias("profile"), pl.all())
        for profile in profiles
    ]
    return pl.concat(pl.collect_all(tables)) if tables else pl.DataFrame()
