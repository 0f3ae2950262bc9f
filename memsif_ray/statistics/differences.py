"""Is a paired difference real? Questions are independent, budgets and repeats are not (OAS, 7.3)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from memsif_ray.statistics.intervals import RESAMPLES, SEED, all_equal

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Difference:
    """A mean paired difference with its uncertainty.

    Attributes:
        n: Questions.
        mean: None when there are none.
        low: Lower end of the question-level bootstrap interval; None when it is undefined.
        high: Upper end.
        p_value: Of the two-sided sign-flip test; None when it is undefined.
        flag: `empty`, `one_question`, or `degenerate` (all differences are equal, so a width of zero is no
            certainty and none is given); "" when all is well.
    """

    n: int
    mean: float | None = None
    low: float | None = None
    high: float | None = None
    p_value: float | None = None
    flag: str = ""


def paired(
    differences: ArrayLike,
    questions: NDArray[Any],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Difference:
    """Percentile bootstrap over questions, and a sign-flip test that is exact for few questions.

    Args:
        differences: Shape (n,), realisations averaged; several rows of a question are averaged first.
        questions: Question of every row, shape (n,).
        seed: Of both.
        resamples: Bootstrap draws, and sign flips where there are too many for all of them.
        level: Coverage of the interval.
    """
    values = by_question(np.asarray(differences, dtype=np.float64), questions)
    if not len(values):
        return Difference(0, flag="empty")
    mean = float(values.mean())
    if len(values) == 1:
        return Difference(1, mean, flag="one_question")
    if all_equal(values):
        p_value = 1.0 if abs(mean) < 1e-12 else _sign_flip(values, seed=seed, resamples=resamples)
        return Difference(len(values), mean, p_value=p_value, flag="degenerate")
    interval = stats.bootstrap(
        (values,),
        np.mean,
        n_resamples=resamples,
        confidence_level=level,
        method="percentile",
        rng=np.random.default_rng(seed),
        batch=1000,
    ).confidence_interval
    return Difference(
        len(values),
        mean,
        float(interval.low),
        float(interval.high),
        _sign_flip(values, seed=seed, resamples=resamples),
    )


def by_question(values: Floats, questions: NDArray[Any]) -> Floats:
    """Mean of every question's rows, in the order of sorted ids."""
    distinct, member = np.unique(questions, return_inverse=True)
    counts = np.bincount(member, minlength=len(distinct))
    return np.asarray(np.bincount(member, weights=values, minlength=len(distinct)) / counts)


def _sign_flip(values: Floats, *, seed: int, resamples: int) -> float:
    test = stats.permutation_test(
        (values,),
        np.mean,
        permutation_type="samples",
        n_resamples=resamples,
        batch=1000,
        rng=np.random.default_rng(seed),
    )
    return float(test.pvalue)
