"""Samples that depend on a seed and on ids alone, and buckets of equal size.

An item's place in a sample is the digest of seed and id, so that neither the order of rows nor a version
of a random generator decides: whoever has the same ids draws the same sample.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

SEED = 42
"""Of every sample in the diagnostics (MemSIF, Appendix A.6)."""


def seeded_sample(ids: Iterable[str], size: int, *, seed: int = SEED) -> tuple[str, ...]:
    """At most `size` of the distinct ids, in the order in which they are drawn."""
    return tuple(sorted(set(ids), key=lambda name: _draw(name, seed))[:size])


def stratified_sample(strata: Mapping[str, str], size: int, *, seed: int = SEED) -> tuple[str, ...]:
    """At most `size` ids, as many of each stratum as its share of all ids; grouped by stratum.

    Args:
        strata: Stratum (a question's category) by id.
        size: Shares are rounded by largest remainder, so that they add up to it exactly.
        seed: Another one draws another sample of the same shares.
    """
    members: dict[str, list[str]] = {}
    for name, stratum in strata.items():
        members.setdefault(stratum, []).append(name)
    shares = allocate({stratum: len(names) for stratum, names in members.items()}, size)
    return tuple(
        name
        for stratum in sorted(members)
        for name in seeded_sample(members[stratum], shares[stratum], seed=seed)
    )


def allocate(sizes: Mapping[str, int], total: int) -> dict[str, int]:
    """`total` places (all, if there are fewer items) over groups in proportion to their sizes.

    By largest remainder; equal remainders go to the group whose name comes first.
    """
    everything = sum(sizes.values())
    total = min(total, everything)
    shares = {name: size * total // everything if everything else 0 for name, size in sizes.items()}
    remainders = sorted(sizes, key=lambda name: (-(sizes[name] * total % max(everything, 1)), name))
    for name in remainders[: total - sum(shares.values())]:
        shares[name] += 1
    return shares


def terciles(
    values: Sequence[float] | NDArray[np.float64],
) -> tuple[NDArray[np.int64], tuple[float, float]]:
    """Bucket 0, 1 or 2 of each value, and the two cuts; a value at a cut belongs below it.

    Equal values are never parted, so ties make buckets unequal, and where all are equal the first has all.

    Raises:
        ValueError: When there is no value.
    """
    if not len(values):
        raise ValueError("no values to divide")
    low, high = np.quantile(values, [1 / 3, 2 / 3])
    buckets = np.searchsorted([low, high], values, side="left")
    return buckets.astype(np.int64), (float(low), float(high))


def _draw(name: str, seed: int) -> bytes:
    return hashlib.sha256(f"{seed}\0{name}".encode("utf-8", "surrogatepass")).digest()
