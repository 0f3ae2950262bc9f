"""Thresholds for an embedder, from φ on conversations that nobody has labelled.

The scores of one embedder lie elsewhere than another's, but how often people change the subject does not
depend on it. So the thresholds are quantiles of φ. Under the paper's thresholds, all-MiniLM-L6-v2 would
split 39 % of the boundaries of LoCoMo unasked and append 5 %.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from memsif_ray.errors import ConfigError
from memsif_ray.memory.encoding import Encoder
from memsif_ray.memory.matching import Normalisation, Phi
from memsif_ray.memory.presets import PAPER, Thresholds
from memsif_ray.memory.segments import Encoded
from memsif_ray.memory.structure import structure_by_rule
from memsif_ray.ports import Embedder, EntityExtractor
from memsif_ray.types import Conversation

SPLIT_QUANTILE = 0.20
"""The fifth of the boundaries that match least split unasked."""
MERGE_QUANTILE = 0.65
"""The third that match best append unasked; so a judge is asked about 45 %."""
JOIN_QUANTILE = 0.50
"""By rule, half of the segments continue an earlier event."""

_MAX_ROUNDS = 10
_MIN_BOUNDARIES = 100
_NEVER = 2.0  # φ is at most 1

Scores = NDArray[np.float64]


class Shares(NamedTuple):
    """What becomes of boundaries: shares that add up to 1."""

    split: float
    merge: float
    judged: float


class Calibration(NamedTuple):
    """Thresholds found under one normalisation of the cosine.

    Attributes:
        boundaries: Number of boundaries measured.
        shares: Under these thresholds.
        paper_shares: Under the paper's thresholds, for comparison.
    """

    normalisation: Normalisation
    thresholds: Thresholds
    boundaries: int
    shares: Shares
    paper_shares: Shares


def boundary_thresholds(phi: Scores) -> tuple[float, float]:
    """(τ_split, τ_merge) to two decimals from the φ of boundaries, shape (n,), at fixed quantiles.

    Raises:
        ConfigError: When the quantiles coincide: φ does not tell these messages apart.
    """
    tau_split, tau_merge = (round(float(q), 2) for q in np.quantile(phi, [SPLIT_QUANTILE, MERGE_QUANTILE]))
    if tau_split >= tau_merge:
        raise ConfigError(f"cannot calibrate: φ hardly varies (both thresholds would be {tau_split})")
    return tau_split, tau_merge


def join_threshold(phi: Scores) -> float:
    """τ_join to two decimals from each segment's φ to its nearest predecessor, shape (n,)."""
    return round(float(np.quantile(phi, JOIN_QUANTILE)), 2)


def shares(phi: Scores, tau_split: float, tau_merge: float) -> Shares:
    """What two thresholds make of the φ of boundaries, shape (n,), n > 0."""
    split, merge = float(np.mean(phi <= tau_split)), float(np.mean(phi >= tau_merge))
    return Shares(split, merge, 1 - split - merge)


async def calibrate(
    conversations: Sequence[Conversation],
    embedder: Embedder,
    entities: EntityExtractor,
    *,
    alpha: float = 0.8,
) -> list[Calibration]:
    """Thresholds for an embedder and an entity extractor, under `clip` and under `affine`.

    Raises:
        ConfigError: When the conversations hold too few messages, or φ hardly varies.
        ServiceError: When the embedder failed.
    """
    encoded = [await Encoder(embedder, entities, c.speakers).encode(c.messages) for c in conversations]
    if (spoken := sum(item.vector is not None for items in encoded for item in items)) < _MIN_BOUNDARIES:
        raise ConfigError(f"calibration needs at least {_MIN_BOUNDARIES} messages, these have {spoken}")
    return [await _calibrated(encoded, Phi(alpha, how)) for how in ("clip", "affine")]


async def _calibrated(encoded: Sequence[Sequence[Encoded]], phi: Phi) -> Calibration:
    """φ depends on the open segment, and so on the thresholds: repeat until they no longer change."""
    boundary, _ = await _measured(encoded, PAPER, phi)
    paper_shares = shares(boundary, PAPER.tau_split, PAPER.tau_merge)
    found = PAPER
    for _ in range(_MAX_ROUNDS):
        before = found
        found = Thresholds(*boundary_thresholds(boundary), _NEVER)
        boundary, nearest = await _measured(encoded, found, phi)
        if found == before:
            break
    thresholds = found._replace(tau_join=join_threshold(nearest))
    measured = shares(boundary, *thresholds[:2])
    return Calibration(phi.normalisation, thresholds, len(boundary), measured, paper_shares)


async def _measured(
    encoded: Sequence[Sequence[Encoded]], thresholds: Thresholds, phi: Phi
) -> tuple[Scores, Scores]:
    """φ of every boundary, and of every segment to the nearest one before it, as no two are joined."""
    apart = thresholds._replace(tau_join=_NEVER)
    built = [await structure_by_rule(items, apart, phi=phi) for items in encoded]
    decisions = [d for structure in built for d in structure.decisions if d.score is not None]
    boundary = [d.score for d in decisions if d.kind == "boundary"]
    nearest = [d.score for d in decisions if d.kind == "trajectory"]
    return np.array(boundary, dtype=np.float64), np.array(nearest, dtype=np.float64)
