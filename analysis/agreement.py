"""How far two graders agree, with intervals: a judge probed with known answers, or checked by people."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from memsif_ray.evaluation.agreement import Pairs, agreement, cohen_kappa
from memsif_ray.statistics.intervals import (
    RESAMPLES,
    SEED,
    Interval,
    all_equal,
    cluster_bootstrap,
    percentile_ends,
    wilson,
)

Ends = tuple[float, float]
"""Lower and upper end of an interval."""


@dataclass(frozen=True, slots=True)
class Compared:
    """One answer graded twice; None where a grader gave no verdict.

    Attributes:
        kind: Of answer, e.g. `specific_wrong`.
        cluster: What is resampled whole: answers about one conversation, or at least to one question, succeed
            and fail together.
        ours: Whether the measured grader accepts it.
        theirs: Whether the other does.
    """

    kind: str
    cluster: str
    ours: bool | None
    theirs: bool | None


@dataclass(frozen=True, slots=True)
class Measured:
    """A grader measured on one kind of answer, or on all.

    Attributes:
        kind: Which; "all" for every kind together.
        answers: How many there are.
        graded: How many the grader gave a verdict on; the others are no part of any rate.
        accepted: Share it accepts; of answers wrong on purpose, the false-accept rate.
        accepted_95: Its interval: a bootstrap of whole clusters, or Wilson's where each answer is a cluster
            of its own; None when it is undefined.
        theirs: Share that the other grader accepts.
        agreement: Share of answers with the same verdict of both.
        agreement_95: Its interval, likewise.
        kappa: Cohen's kappa with its bootstrap interval.
    """

    kind: str
    answers: int
    graded: int
    accepted: float | None
    accepted_95: Ends | None
    theirs: float | None
    agreement: float | None
    agreement_95: Ends | None
    kappa: Interval


def measure(compared: Sequence[Compared]) -> list[Measured]:
    """One row per kind in the order of first appearance, and one for all when there are several."""
    kinds = list(dict.fromkeys(one.kind for one in compared))
    groups = {kind: [one for one in compared if one.kind == kind] for kind in kinds}
    if len(kinds) > 1:
        groups["all"] = list(compared)
    return [_measured(kind, group, seed=SEED + k) for k, (kind, group) in enumerate(groups.items(), 1)]


def _measured(kind: str, group: Sequence[Compared], *, seed: int) -> Measured:
    graded = [one for one in group if one.ours is not None]
    accepted = [one.ours is True for one in graded]
    theirs = [one.theirs for one in group if one.theirs is not None]
    both = [(one, (one.ours, one.theirs)) for one in group if one.ours is not None and one.theirs is not None]
    pairs = [(bool(mine), bool(other)) for _, (mine, other) in both]
    clusters = [one.cluster for one, _ in both]
    return Measured(
        kind,
        answers=len(group),
        graded=len(graded),
        accepted=sum(accepted) / len(accepted) if accepted else None,
        accepted_95=_ends(accepted, [one.cluster for one in graded], seed=seed),
        theirs=sum(theirs) / len(theirs) if theirs else None,
        agreement=agreement(pairs),
        agreement_95=_ends([mine == other for mine, other in pairs], clusters, seed=seed),
        kappa=kappa_interval(pairs, clusters, seed=seed),
    )


def _ends(held: Sequence[bool], clusters: Sequence[str], *, seed: int) -> Ends | None:
    if len(set(clusters)) == len(clusters):
        return wilson(sum(held), len(held))
    found = cluster_bootstrap(np.array(held, dtype=np.float64), clusters, seed=seed)
    return None if found.low is None or found.high is None else (found.low, found.high)


def kappa_interval(
    pairs: Pairs,
    clusters: Sequence[Hashable],
    *,
    seed: int,
    resamples: int = RESAMPLES,
    level: float = 0.95,
) -> Interval:
    """Cohen's kappa with a percentile bootstrap interval that resamples whole clusters of answers.

    Args:
        pairs: Labels of both graders, one pair per answer.
        clusters: What each answer belongs to, such as its conversation.
        seed: Of the generator.
        resamples: Number of bootstrap resamples.
        level: Coverage of the interval.

    Returns:
        `flag` is `empty`, `one_cluster` (nothing to resample), `degenerate` (kappa is undefined, or the same
        in every resample) or ""; resamples without a defined kappa are `skipped`.
    """
    point = cohen_kappa(pairs)
    if not pairs:
        return Interval(0, None, flag="empty")
    if point is None:
        return Interval(len(pairs), None, flag="degenerate")
    cells = _cells(pairs, clusters)
    if len(cells) == 1:
        return Interval(len(pairs), point, flag="one_cluster")
    # Clusters with the same cells are interchangeable, so it is enough to draw how many of each there are.
    patterns, counts = np.unique(cells, axis=0, return_counts=True)
    draws = np.random.default_rng(seed).multinomial(len(cells), counts / len(cells), size=resamples)
    kappas = _kappas(draws @ patterns)
    known = kappas[~np.isnan(kappas)]
    skipped = int(len(kappas) - len(known))
    if all_equal(known):
        return Interval(len(pairs), point, flag="degenerate", skipped=skipped)
    low, high = percentile_ends(known, level=level)
    return Interval(len(pairs), point, low, high, skipped=skipped)


def _cells(pairs: Pairs, clusters: Sequence[Hashable]) -> NDArray[np.int64]:
    """Per cluster the answers that both, only the first, only the second, or none accept: shape (n, 4)."""
    number = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    cells = np.zeros((len(number), 4), dtype=np.int64)
    for (one, other), cluster in zip(pairs, clusters, strict=True):
        cells[number[cluster], 2 * (not one) + (not other)] += 1
    return cells


def _kappas(cells: NDArray[np.int64]) -> NDArray[np.float64]:
    """Kappa of every row (both, first, second, neither); NaN where chance explains everything."""
    both, first, second, neither = cells.T.astype(np.float64)
    n = both + first + second + neither
    observed = (both + neither) / n
    chance = ((both + first) * (both + second) + (second + neither) * (first + neither)) / n**2
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(chance == 1, np.nan, (observed - chance) / (1 - chance))
