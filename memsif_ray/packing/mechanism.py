"""Proposition 1 of OAS as an experiment: why consolidation helps under tight budgets and harms later.

The surrogate utility of a memory is the mean signed fidelity φ in [-1, 1] that its best applicable note
contributes to a query. With G the queries that retained notes support, H those that the generated record
supports, X = H without G, and J the queries in both, replacing the notes by the record is worth

    Pr(X) E[φ_generated | X]  +  Pr(J) E[φ_generated − φ_raw | J],

a coverage effect and a replacement effect. It is exact as long as queries outside H lose nothing
(Assumption 1); what they do lose is the residual spillover.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from memsif_ray.packing.actions import Floats
from memsif_ray.packing.folds import Mask


@dataclass(frozen=True, slots=True)
class Gain:
    """What replacing raw notes by a generated record is worth.

    Attributes:
        total: U(after) − U(before), computed query by query.
        coverage: Of queries that retention missed.
        replacement: On queries that retention supported.
        spillover: On queries that the record does not support; zero under Assumption 1.
    """

    total: float
    coverage: float
    replacement: float
    spillover: float


def decompose(raw: Floats, generated: Floats, *, grounded: Mask, supported: Mask, replaces_all: bool) -> Gain:
    """Split the gain over equally likely queries.

    Args:
        raw: φ of the best raw note for each query, shape (queries,); counts only where `grounded`.
        generated: φ of the generated record, shape (queries,); counts only where `supported`.
        grounded: G: retention packs an applicable note.
        supported: H: the generated record speaks of it.
        replaces_all: True when raw notes leave the context also for queries that the record does not
            support, which breaks Assumption 1.
    """
    before = np.where(grounded, raw, 0.0)
    kept = 0.0 if replaces_all else before
    after = np.where(supported, generated, kept)
    missed, joint = supported & ~grounded, supported & grounded
    return Gain(
        total=float((after - before).mean()),
        coverage=_part(generated, missed),
        replacement=_part(generated - raw, joint),
        spillover=_part(kept - before, ~supported),
    )


def _part(values: Floats, region: Mask) -> float:
    """Pr(region) E[values | region]."""
    return float(region.mean() * values[region].mean()) if region.any() else 0.0


@dataclass(frozen=True, slots=True)
class World:
    """A cluster of notes and the queries about it, one population for every budget.

    Attributes:
        notes: Number of notes; each answers one query, and all queries are equally likely.
        cost: Mean tokens of a raw note; costs are log-normal.
        gist: Tokens that a generated record needs per note to speak of it.
        raw_fidelity: φ of a raw note.
        tight_fidelity: φ of the record where it has just `gist` tokens per note.
        loose_fidelity: φ that it approaches with all the room of the raw notes; below `raw_fidelity`,
            because wording, order and corrections are lost.
        clusters: Independent clusters that are averaged.
    """

    notes: int = 6
    cost: float = 60.0
    gist: float = 8.0
    raw_fidelity: float = 0.95
    tight_fidelity: float = 0.7
    loose_fidelity: float = 0.85
    clusters: int = 400


PAPER_LIKE = World()
"""Six notes of about 60 tokens, the median evidence turn of LongMemEval being 59."""


def crossover_curve(budgets: Sequence[int], *, world: World = PAPER_LIKE, seed: int = 2026) -> list[Gain]:
    """The gain of a generated record at each budget, over the same clusters and queries.

    Raw packing is nested: each cluster's notes have a fixed order, and a larger budget keeps a longer part
    of it.
    """
    rng = np.random.default_rng(seed)
    shape = (world.clusters, world.notes)
    costs = rng.lognormal(np.log(world.cost), 0.4, shape)
    ease = rng.random(shape)
    noise = rng.normal(0.0, 0.1, shape)
    return [_gain_at(budget, world, costs=costs, ease=ease, noise=noise) for budget in budgets]


def crossover(budgets: Sequence[int], gains: Sequence[Gain]) -> float | None:
    """The budget at which the gain turns from positive to negative, interpolated; None if it never does."""
    for (low, before), (high, after) in pairwise(zip(budgets, gains, strict=True)):
        if before.total > 0 >= after.total:
            return low + (high - low) * before.total / (before.total - after.total)
    return None


def _gain_at(budget: int, world: World, *, costs: Floats, ease: Floats, noise: Floats) -> Gain:
    grounded = costs.cumsum(axis=1) <= budget
    room = budget / world.notes  # tokens of the record per note
    supported = ease <= min(1.0, room / world.gist)
    spare = np.clip((room - world.gist) / (world.cost - world.gist), 0.0, 1.0)
    mean = world.tight_fidelity + spare * (world.loose_fidelity - world.tight_fidelity)
    generated = np.clip(mean + noise, -1.0, 1.0)
    raw = np.full(costs.shape, world.raw_fidelity)
    return decompose(raw, generated, grounded=grounded, supported=supported, replaces_all=False)
