"""From the rows of a finished run to its summary: accuracy, cost, and how sure we are of a difference."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from analysis.comparisons import differences, discordance, paired
from analysis.costs import costs
from analysis.questions import per_question, scan
from analysis.scores import between_runs, category_scores, with_wilson
from analysis.verdicts import own_profile, scan_calls, scan_verdicts
from memsif_ray.schemas import ANSWERS


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run found, in long form.

    Attributes:
        scores: One row per method and category, and per method a `Total` without adversarial questions:
            method, category, n, scored, acc, f1, evidence_recall, date_match, invalid, ungraded, failures,
            acc_low, acc_high. `acc` to `date_match` are means over the questions that have such a score, null
            when none has; `n` and `scored` count questions; `invalid`, `ungraded` and `failures` count
            answers; the last two columns are the Wilson interval of `acc`.
        costs: One row per method, as [`costs`][analysis.costs.costs] says.
        gains: One row per other method: accuracy of the reference minus its own, as
            [`differences`][analysis.comparisons.differences] and then
            [`discordance`][analysis.comparisons.discordance] say.
        spread: One row per method with several runs, as [`between_runs`][analysis.scores.between_runs] says.
    """

    scores: pl.DataFrame
    costs: pl.DataFrame
    gains: pl.DataFrame
    spread: pl.DataFrame

    def as_dict(self) -> dict[str, list[dict[str, Any]]]:
        """Plain data, for JSON."""
        return {
            "scores": self.scores.to_dicts(),
            "costs": self.costs.to_dicts(),
            "gains": self.gains.to_dicts(),
            "spread": self.spread.to_dicts(),
        }


def read_summary(
    run: Path, *, reference: str = "memsif", profile: str | None = None, stratified: bool = False
) -> Summary:
    """The summary of a run folder, from its answers and calls and all verdicts on it, with their calls.

    A missing file is an empty table: a run that was not graded has no verdicts. Without `profile` its own
    grading is read.
    """
    profile = profile or own_profile(run)
    return summarise(
        scan(run / "tables" / "answers.parquet", ANSWERS),
        scan_verdicts(run),
        scan_calls(run, profile),
        reference=reference,
        profile=profile,
        stratified=stratified,
    )


def summarise(
    answers: pl.LazyFrame,
    verdicts: pl.LazyFrame,
    calls: pl.LazyFrame,
    *,
    reference: str = "memsif",
    profile: str = "memsif",
    stratified: bool = False,
) -> Summary:
    """Scores, costs and gains of one run, or of several whose methods have different names.

    Args:
        answers: Rows of `schemas.ANSWERS`.
        verdicts: Rows of `schemas.VERDICTS`.
        calls: Rows of `schemas.CALLS`.
        reference: Method whose gain over each other method is computed.
        profile: Judge profile to read; verdicts of two profiles are never mixed.
        stratified: Resample questions within categories (LongMemEval) instead of whole conversations.
    """
    chosen = verdicts.filter(pl.col("profile") == profile)
    questions = per_question(answers, chosen)
    scores, spent, pairs, spread = pl.collect_all(
        [
            category_scores(questions),
            costs(answers, calls),
            paired(questions, reference),
            between_runs(answers, chosen),
        ]
    )
    gains = differences(pairs, stratified=stratified).join(
        discordance(pairs), on="method", maintain_order="left"
    )
    return Summary(with_wilson(scores), spent, gains, spread)
