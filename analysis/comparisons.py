"""The reference against every other method, question by question: how large the difference, and how sure.

Two answers to "how sure" stand side by side. The bootstrap respects that questions about one conversation
belong together; McNemar's test does not, but it is exact for few questions. Neither is given where it is
undefined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike
from scipy.stats import binomtest

from analysis.intervals import SEED, cluster_bootstrap, stratified_bootstrap
from analysis.questions import ADVERSARIAL

Metric = Literal["score", "f1", "evidence_recall"]


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's exact test of paired right and wrong answers.

    Attributes:
        only_ours: Questions that the reference alone answers rightly.
        only_theirs: Questions that the other method alone answers rightly.
        undecided: Pairs left out, because a method's runs were right exactly half of the time.
        p: Two-sided exact probability; None without discordant pairs.
        flag: `no_pairs`, `concordant` (nothing to test), or "".
    """

    only_ours: int
    only_theirs: int
    undecided: int
    p: float | None
    flag: str = ""


def mcnemar(ours: ArrayLike, theirs: ArrayLike) -> McNemar:
    """Test two columns of scores in [0, 1], one pair per question; a pair with NaN does not count.

    A question answered in several runs is right when most of its runs are.

    Raises:
        ValueError: When the columns differ in length.
    """
    a, b = np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)
    if a.shape != b.shape:
        raise ValueError(f"{a.shape} scores against {b.shape}")
    paired = ~np.isnan(a) & ~np.isnan(b)
    decided = paired & (a != 0.5) & (b != 0.5)
    right, other = a[decided] > 0.5, b[decided] > 0.5
    gained, lost = int((right & ~other).sum()), int((~right & other).sum())
    undecided = int(paired.sum() - decided.sum())
    if not gained + lost:
        return McNemar(gained, lost, undecided, None, "concordant" if paired.any() else "no_pairs")
    return McNemar(gained, lost, undecided, float(binomtest(gained, gained + lost).pvalue))


def holm(probabilities: Sequence[float | None]) -> list[float | None]:
    """Holm's correction for testing several hypotheses at once, in the order given; None stays None."""
    known = sorted((p, place) for place, p in enumerate(probabilities) if p is not None)
    corrected: list[float | None] = [None] * len(probabilities)
    worst = 0.0
    for rank, (p, place) in enumerate(known):
        worst = max(worst, min(1.0, p * (len(known) - rank)))
        corrected[place] = worst
    return corrected


def paired(questions: pl.LazyFrame, reference: str, metric: Metric = "score") -> pl.LazyFrame:
    """Per other method and question `ours` and `theirs`; null where one has no value. No adversarial ones."""
    asked = questions.filter(~ADVERSARIAL).select(
        "method", "category", "conversation_id", "question_id", theirs=metric
    )
    ours = asked.filter(pl.col("method") == reference).select("question_id", ours="theirs")
    return (
        asked.filter(pl.col("method") != reference)
        .join(ours, on="question_id")
        .sort("method", "conversation_id", "question_id")
    )


def differences(pairs: pl.DataFrame, *, stratified: bool) -> pl.DataFrame:
    """One row per other method: the reference minus it.

    Columns: method; n, point, low, high, flag and skipped of the
    [`Interval`][analysis.intervals.Interval]; only_ours, only_theirs, undecided and p of
    [`McNemar`][analysis.comparisons.McNemar]; p_holm, corrected for all rows.

    Args:
        pairs: From [`paired`][analysis.comparisons.paired].
        stratified: Resample questions within categories (LongMemEval) instead of whole conversations.
    """
    group = "category" if stratified else "conversation_id"
    bootstrap = stratified_bootstrap if stratified else cluster_bootstrap
    rows = []
    for k, ((method,), part) in enumerate(pairs.group_by("method", maintain_order=True), start=1):
        ours, theirs = (part[side].fill_null(float("nan")).to_numpy() for side in ("ours", "theirs"))
        test = asdict(mcnemar(ours, theirs))
        del test["flag"]  # its counts say the same
        interval = bootstrap(ours - theirs, part[group].to_list(), seed=SEED + k)
        rows.append({"method": method, **asdict(interval), **test})
    corrected = holm([row["p"] for row in rows])
    return pl.DataFrame(
        [row | {"p_holm": p} for row, p in zip(rows, corrected, strict=True)], schema=_DIFFERENCES
    )


_DIFFERENCES = {
    "method": pl.String,
    **{"n": pl.Int64, "point": pl.Float64, "low": pl.Float64, "high": pl.Float64},
    **{"flag": pl.String, "skipped": pl.Int64},
    **{"only_ours": pl.Int64, "only_theirs": pl.Int64, "undecided": pl.Int64},
    **{"p": pl.Float64, "p_holm": pl.Float64},
}
