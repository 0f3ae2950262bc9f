"""The reference against every other method, question by question: how large the difference, and how sure.

Two answers to "how sure" stand side by side. The bootstrap respects that questions about one conversation
belong together; McNemar's test does not, but it is exact for few questions. Neither is given where it is
undefined.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Literal

import numpy as np
import polars as pl
from numpy.typing import ArrayLike, NDArray
from scipy.stats import binomtest

from analysis.questions import ADVERSARIAL
from memsif_ray.statistics.intervals import SEED, cluster_bootstrap, stratified_bootstrap

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
    """One row per other method: the reference minus it, with the paired bootstrap's interval.

    Columns: method; n, point, low, high, flag and skipped of an
    [`Interval`][memsif_ray.statistics.intervals.Interval].

    Args:
        pairs: From [`paired`][analysis.comparisons.paired].
        stratified: Resample questions within categories (LongMemEval) instead of whole conversations.
    """
    group = "category" if stratified else "conversation_id"
    bootstrap = stratified_bootstrap if stratified else cluster_bootstrap
    rows = []
    for k, (method, part) in enumerate(_by_method(pairs), start=1):
        ours, theirs = _columns(part)
        interval = bootstrap(ours - theirs, part[group].to_list(), seed=SEED + k)
        rows.append({"method": method, **asdict(interval)})
    ends = {"point": pl.Float64, "low": pl.Float64, "high": pl.Float64}
    kinds = {"method": pl.String, "n": pl.Int64, **ends, "flag": pl.String, "skipped": pl.Int64}
    return pl.DataFrame(rows, schema=kinds)


def discordance(pairs: pl.DataFrame) -> pl.DataFrame:
    """One row per other method: McNemar's test against the reference.

    Columns: method; only_ours, only_theirs, undecided and p of [`McNemar`][analysis.comparisons.McNemar];
    p_holm, corrected for all rows.
    """
    tests = {method: mcnemar(*_columns(part)) for method, part in _by_method(pairs)}
    corrected = holm([test.p for test in tests.values()])
    rows = [
        (method, test.only_ours, test.only_theirs, test.undecided, test.p, p)
        for (method, test), p in zip(tests.items(), corrected, strict=True)
    ]
    counts = {"only_ours": pl.Int64, "only_theirs": pl.Int64, "undecided": pl.Int64}
    kinds = {"method": pl.String, **counts, "p": pl.Float64, "p_holm": pl.Float64}
    return pl.DataFrame(rows, schema=kinds, orient="row")


def _by_method(pairs: pl.DataFrame) -> Iterator[tuple[str, pl.DataFrame]]:
    for (method,), part in pairs.group_by("method", maintain_order=True):
        yield str(method), part


def _columns(part: pl.DataFrame) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    ours, theirs = (part[side].fill_null(float("nan")).to_numpy() for side in ("ours", "theirs"))
    return ours, theirs
