"""Confidence intervals that admit when they are undefined.

Paired bootstraps of MemSIF, Appendix D.2: B = 10,000 resamples, percentile 95 %, seed 2026 + k for the
k-th comparison. What is resampled must be what is independent: whole conversations in LoCoMo, single
questions within their category in LongMemEval.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

RESAMPLES = 10_000
SEED = 2026


@dataclass(frozen=True, slots=True)
class Interval:
    """A point estimate and its interval.

    Attributes:
        n: Number of paired questions.
        point: Mean difference over the questions; None when there are none.
        low: Lower end; None when the interval is undefined.
        high: Upper end; None when the interval is undefined.
        flag: `empty`, `one_cluster` or `one_question` (nothing to resample), or `degenerate` (every resample
            gave the same value, and a width of zero would be no certainty); "" when all is well.
        skipped: Resamples that drew no row, left out of the percentiles.
    """

    n: int
    point: float | None
    low: float | None = None
    high: float | None = None
    flag: str = ""
    skipped: int = 0


def cluster_bootstrap(
    differences: ArrayLike,
    clusters: Sequence[Hashable],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """Interval of the mean paired difference, resampling whole clusters with replacement.

    Questions about one conversation succeed and fail together, so resampling them one by one gives an
    interval of the wrong width. Every draw takes all questions of a conversation, hence a resample's mean
    weighs conversations by their number of questions.

    Args:
        differences: One value per question, shape (n,); NaN marks a question without a pair, and a cluster
            of nothing else still counts as a cluster.
        clusters: Cluster of each question, length n.
        seed: Of the generator; `SEED + k` for comparison k.
        resamples: Number of bootstrap resamples B.
        level: Coverage of the interval.

    Raises:
        ValueError: When the two lengths differ or a difference is infinite.
    """
    values = _checked(differences, clusters)
    number = {cluster: i for i, cluster in enumerate(sorted(set(clusters), key=repr))}
    members = np.fromiter(map(number.__getitem__, clusters), dtype=np.intp, count=len(clusters))
    paired = ~np.isnan(values)
    counts = np.bincount(members[paired], minlength=len(number))
    sums = np.bincount(members[paired], weights=values[paired], minlength=len(number))
    if not counts.sum():
        return Interval(0, None, flag="empty")
    point = float(sums.sum() / counts.sum())
    if (counts > 0).sum() == 1:
        return Interval(int(counts.sum()), point, flag="one_cluster")
    drawn = np.random.default_rng(seed).integers(len(number), size=(resamples, len(number)))
    rows = counts[drawn].sum(axis=1)
    means = sums[drawn].sum(axis=1)[rows > 0] / rows[rows > 0]
    return _percentiles(means, n=int(counts.sum()), point=point, level=level, skipped=int((rows == 0).sum()))


def stratified_bootstrap(
    differences: ArrayLike,
    strata: Sequence[Hashable],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """Interval of the mean paired difference, resampling questions within each stratum.

    Every resample keeps the number of questions per category. Arguments and errors are those of
    `cluster_bootstrap`, with strata in place of clusters.
    """
    values = _checked(differences, strata)
    paired = ~np.isnan(values)
    n = int(paired.sum())
    if not n:
        return Interval(0, None, flag="empty")
    if n == 1:
        return Interval(1, float(values[paired][0]), flag="one_question")
    rng = np.random.default_rng(seed)
    totals = np.zeros(resamples)
    for stratum in sorted(set(strata), key=repr):
        inside = values[paired & np.array([s == stratum for s in strata])]
        if len(inside):
            totals += rng.choice(inside, size=(resamples, len(inside))).sum(axis=1)
    return _percentiles(totals / n, n=n, point=float(values[paired].mean()), level=level)


def _checked(differences: ArrayLike, groups: Sequence[Hashable]) -> NDArray[np.float64]:
    values = np.asarray(differences, dtype=np.float64)
    if values.shape != (len(groups),):
        raise ValueError(f"{values.shape} differences for {len(groups)} group labels")
    if np.isinf(values).any():
        raise ValueError("a difference is infinite")
    return values


def _percentiles(
    means: NDArray[np.float64], *, n: int, point: float, level: float, skipped: int = 0
) -> Interval:
    if all_equal(means):
        return Interval(n, point, flag="degenerate", skipped=skipped)
    low, high = percentile_ends(means, level=level)
    return Interval(n, point, low, high, skipped=skipped)


def percentile_ends(resampled: NDArray[np.float64], *, level: float) -> tuple[float, float]:
    """Both ends of a percentile interval. They are values that some resample took; none is interpolated."""
    low, high = np.quantile(resampled, [(1 - level) / 2, (1 + level) / 2], method="inverted_cdf")
    return float(low), float(high)


def all_equal(values: NDArray[np.float64]) -> bool:
    """Whether the values differ by rounding at most, so that an interval of theirs says nothing."""
    return bool(np.ptp(values) < 1e-12)


def wilson(successes: float, n: int, *, level: float = 0.95) -> tuple[float, float] | None:
    """Wilson score interval of a proportion, sensible at 0/n and n/n too; None when n is 0.

    Args:
        successes: Of the n trials; a trial that is a mean of runs may count in part.
        n: Number of trials.
        level: Coverage of the interval.

    Raises:
        ValueError: Unless 0 <= successes <= n.
    """
    if not 0 <= successes <= n:
        raise ValueError(f"{successes} successes of {n}")
    if n == 0:
        return None
    z = NormalDist().inv_cdf((1 + level) / 2)
    share, scale = successes / n, 1 + z * z / n
    centre = (share + z * z / (2 * n)) / scale
    half = z * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n)) / scale
    return max(0.0, centre - half), min(1.0, centre + half)
