"""Speed of the paired cluster bootstrap at LoCoMo's size, beside `scipy.stats.bootstrap` on the same problem.

    python tests/benchmarks/bootstrap.py

Ten comparisons of 1,540 questions in ten conversations, 10,000 resamples each. scipy is given the
conversations to resample, in two ways: with the obvious statistic, which gathers the questions of the
conversations drawn, and with one that someone wrote for speed, vectorised over sums per conversation.
Nothing is asserted: read the ratios.
"""

import time
from collections.abc import Callable

import numpy as np
from scipy.stats import bootstrap

from memsif_ray.statistics.intervals import RESAMPLES, SEED, Interval, cluster_bootstrap

QUESTIONS, CONVERSATIONS, COMPARISONS = 1540, 10, 10


def problem() -> tuple[np.ndarray, np.ndarray]:
    """Paired differences (comparisons, questions), each a mean of three runs, and each question's cluster."""
    rng = np.random.default_rng(0)
    right = rng.binomial(3, 0.6, size=(2, COMPARISONS, QUESTIONS)) / 3
    return right[0] - right[1], rng.integers(0, CONVERSATIONS, size=QUESTIONS)


def ours(values: np.ndarray, clusters: np.ndarray, seed: int) -> tuple[float, float]:
    found: Interval = cluster_bootstrap(values, clusters.tolist(), seed=seed)
    assert found.low is not None and found.high is not None
    return found.low, found.high


def gathered(values: np.ndarray, clusters: np.ndarray, seed: int) -> tuple[float, float]:
    parts = [values[clusters == cluster] for cluster in range(CONVERSATIONS)]
    return _scipy(lambda drawn: np.concatenate([parts[i] for i in drawn]).mean(), seed, vectorized=False)


def summed(values: np.ndarray, clusters: np.ndarray, seed: int) -> tuple[float, float]:
    sums = np.bincount(clusters, weights=values)
    counts = np.bincount(clusters)
    return _scipy(
        lambda drawn, axis: sums[drawn].sum(axis=axis) / counts[drawn].sum(axis=axis), seed, vectorized=True
    )


def _scipy(statistic: Callable, seed: int, *, vectorized: bool) -> tuple[float, float]:
    found = bootstrap(
        (np.arange(CONVERSATIONS),),
        statistic,
        n_resamples=RESAMPLES,
        method="percentile",
        vectorized=vectorized,
        rng=np.random.default_rng(seed),
    )
    return found.confidence_interval.low, found.confidence_interval.high


def timed(interval: Callable[..., tuple[float, float]]) -> tuple[float, np.ndarray]:
    """Seconds for all comparisons, and their intervals."""
    differences, clusters = problem()
    started = time.perf_counter()
    ends = [interval(values, clusters, SEED + k) for k, values in enumerate(differences, start=1)]
    return time.perf_counter() - started, np.array(ends)


def main() -> None:
    mine, ends = timed(ours)
    print(f"{COMPARISONS} comparisons of {QUESTIONS:,} questions, {RESAMPLES:,} resamples each")
    print(f"{'cluster_bootstrap':34s} {mine:8.3f} s")
    for name, other in (("scipy, gathering questions", gathered), ("scipy, vectorised over sums", summed)):
        seconds, others = timed(other)
        apart = np.abs(ends - others).max()
        print(f"{name:34s} {seconds:8.3f} s  {seconds / mine:6.1f} times ours; ends differ by {apart:.4f}")


if __name__ == "__main__":
    main()
