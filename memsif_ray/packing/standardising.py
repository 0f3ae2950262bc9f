"""What both utility learners do to their data first, so that neither row order nor scale matters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from memsif_ray.packing.actions import Floats, Ints

_CONSTANT = 1e-12
"""A standard deviation below this share of a column's size is rounding, not variation."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Standardisation by mean and population deviation.

    Attributes:
        mean: Shape (d,).
        deviation: Shape (d,); 1 for a constant column, which becomes zero and so gets no weight.
        constant: Indices of the constant columns.
    """

    mean: Floats
    deviation: Floats
    constant: Ints

    @classmethod
    def of(cls, rows: Floats) -> Scale:
        """That of a matrix, shape (n, d)."""
        mean, deviation = rows.mean(axis=0), rows.std(axis=0)
        constant = deviation <= _CONSTANT * np.maximum(1.0, np.abs(rows).max(axis=0))
        return cls(mean, np.where(constant, 1.0, deviation), np.flatnonzero(constant))

    def apply(self, rows: Floats) -> Floats:
        """Standardised rows; constant columns are exactly zero."""
        scaled = (rows - self.mean) / self.deviation
        scaled[:, self.constant] = 0.0
        return scaled

    def fold_into(self, weights: Floats, bias: Floats) -> tuple[Floats, Floats]:
        """The affine map of raw columns that equals one of standardised columns."""
        raw = weights / self.deviation
        raw[:, self.constant] = 0.0
        return raw, bias - raw @ self.mean


def in_fixed_order(rows: Floats, targets: Floats, groups: ArrayLike | None) -> tuple[Floats, Floats, Ints]:
    """Rows, targets and group numbers in an order that depends on their contents alone.

    Sums depend on their order in the last digits, and so would the weights and, by a near tie, the chosen
    settings. Without `groups` every row is one of its own.
    """
    _, member = np.unique(np.arange(len(rows)) if groups is None else np.asarray(groups), return_inverse=True)
    if len(member) != len(rows):
        raise ValueError(f"{len(member)} groups for {len(rows)} rows")
    keys = [*rows.T, *targets.T] if groups is None else [*rows.T, *targets.T, member]
    order = np.lexsort(keys[::-1])
    groups_in_order = np.arange(len(rows)) if groups is None else member[order]
    return rows[order], targets[order], groups_in_order.astype(np.int64)
