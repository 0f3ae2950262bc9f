"""Offline outcomes: what every action was worth for every question and budget (OAS, 3.3)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from numpy.typing import ArrayLike

from memsif_ray.packing.actions import ACTIONS, Action, Floats, Ints
from memsif_ray.packing.features import NAMES, Features, FeatureSet
from memsif_ray.packing.folds import Labels, Mask


@dataclass(frozen=True, slots=True, eq=False)
class Utilities:
    """One row per (question, budget), realisations already averaged.

    Attributes:
        questions: Ids, shape (n,).
        budgets: Tokens, shape (n,).
        features: Shape (n, d), columns as `feature_set` names them.
        values: Utility in [0, 1] of each action, shape (n, 4), columns as in `ACTIONS`; NaN where an action
            was not executed.
        feature_set: `paper` or `extended`.
        embedder: Id of the embedder behind the features.
    """

    questions: Labels
    budgets: Ints
    features: Floats
    values: Floats
    feature_set: FeatureSet = "paper"
    embedder: str = ""

    def __post_init__(self) -> None:
        """Refuse what would be averaged or aligned wrongly in silence.

        Raises:
            ValueError: When shapes disagree, a (question, budget) stands twice, or a utility is not in 0..1.
        """
        n = len(self.questions)
        wanted = [(n,), (n, len(NAMES[self.feature_set])), (n, len(ACTIONS))]
        shapes = [self.budgets.shape, self.features.shape, self.values.shape]
        if shapes != wanted:
            raise ValueError(f"budgets, features and values have shapes {shapes}, not {wanted}")
        if len(set(zip(self.questions.tolist(), self.budgets.tolist(), strict=True))) != n:
            raise ValueError("a question and budget stand twice: average their realisations first")
        known = self.values[~np.isnan(self.values)]
        if ((known < 0) | (known > 1)).any():
            raise ValueError("utilities must lie between 0 and 1")

    @classmethod
    def of(
        cls,
        questions: ArrayLike,
        budgets: ArrayLike,
        features: ArrayLike,
        values: ArrayLike,
        *,
        feature_set: FeatureSet = "paper",
        embedder: str = "",
    ) -> Self:
        """From anything that NumPy reads.

        Args:
            questions: Shape (n,).
            budgets: Shape (n,).
            features: Shape (n, d).
            values: Shape (n, 4), or (n, 4, realisations): repeats of a question are no independent units,
                so they are averaged here, before anything is learned or inferred. NaN is a repeat without
                a grade.
            feature_set: Names the columns of `features`.
            embedder: Behind `features`.
        """
        utilities = np.asarray(values, dtype=np.float64)
        return cls(
            np.asarray(questions),
            np.asarray(budgets, dtype=np.int64),
            np.asarray(features, dtype=np.float64),
            averaged(utilities) if utilities.ndim == 3 else utilities,
            feature_set,
            embedder,
        )

    def __len__(self) -> int:
        """Number of rows."""
        return len(self.questions)

    def where(self, mask: Mask) -> Utilities:
        """The rows of a mask."""
        return replace(
            self,
            questions=self.questions[mask],
            budgets=self.budgets[mask],
            features=self.features[mask],
            values=self.values[mask],
        )

    def known(self) -> Ints:
        """Columns of `values` of the actions that were executed at all."""
        return np.flatnonzero(~np.isnan(self.values).all(axis=0))

    def usable(self) -> Utilities:
        """The rows with every feature and a utility of every known action; a learner refuses the others."""
        described = np.isfinite(self.features).all(axis=1)
        graded = ~np.isnan(self.values[:, self.known()]).any(axis=1)
        return self.where(np.asarray(described & graded))

    def feature(self, name: str) -> Floats:
        """One column of the features."""
        return self.features[:, NAMES[self.feature_set].index(name)]

    @property
    def gains(self) -> Floats:
        """Utility over retention, shape (n, 4); the first column is zero."""
        return self.values - self.values[:, :1]


@dataclass(frozen=True, slots=True)
class Instance:
    """What was known about one question and budget before anything was generated."""

    question_id: str
    budget: int
    features: Features


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one realisation of one action was worth; a utility of None was never graded."""

    question_id: str
    budget: int
    action: Action
    utility: float | None


def gather(instances: Iterable[Instance], outcomes: Iterable[Outcome]) -> Utilities:
    """One row per instance, in order, with the mean of each action's graded realisations.

    Raises:
        ValueError: When there is no instance, two differ in feature set or embedder, or an outcome belongs
            to none.
    """
    rows = {(one.question_id, one.budget): one for one in instances}
    kinds = {(one.features.names, one.features.embedder) for one in rows.values()}
    if len(kinds) != 1:
        raise ValueError(f"instances of {len(kinds)} kinds of features: there must be one")
    [(names, embedder)] = kinds
    place = {key: i for i, key in enumerate(rows)}
    totals, counts = np.zeros((2, len(rows), len(ACTIONS)))
    for one in outcomes:
        key = one.question_id, one.budget
        if key not in place:
            raise ValueError(f"an outcome of {key} belongs to no instance")
        if one.utility is not None:
            at = place[key], ACTIONS.index(one.action)
            totals[at] += one.utility
            counts[at] += 1
    return Utilities.of(
        [one.question_id for one in rows.values()],
        [one.budget for one in rows.values()],
        [one.features.values for one in rows.values()],
        np.where(counts > 0, totals / np.maximum(counts, 1), np.nan),
        feature_set=next(kind for kind, known in NAMES.items() if known == names),
        embedder=embedder,
    )


def averaged(realisations: Floats) -> Floats:
    """Mean over the last axis without NaN; NaN where there is nothing else."""
    counted = ~np.isnan(realisations)
    total = np.where(counted, realisations, 0.0).sum(axis=-1)
    number = counted.sum(axis=-1)
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)
