"""A finished labelling job as outcomes to learn from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from memsif_ray.errors import ConfigError, DataError
from memsif_ray.packing.actions import ACTIONS, Action
from memsif_ray.packing.features import NAMES, Features, FeatureSet
from memsif_ray.packing.utilities import Instance, Outcome, Utilities, gather
from memsif_ray.storage.jobs import JobFolder


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """What a labelling job found out.

    Attributes:
        path: Its folder.
        about: Its manifest: dataset, evidence, models, grader, budgets.
        data: One row per question and budget that has features and a utility of every action.
        refused: Rows that lack one.
        types: Question → type.
        rows: The table of labels.
    """

    path: Path
    about: Mapping[str, Any]
    data: Utilities
    refused: int
    types: Mapping[str, str]
    rows: pa.Table

    @property
    def questions(self) -> list[str]:
        """Distinct ids of `data`, sorted."""
        return sorted(set(self.data.questions.tolist()))


def read_labels(path: Path, *, feature_set: FeatureSet = "paper") -> Labels:
    """The outcomes in the folder of a labelling job; an unfinished job gives what it has.

    Raises:
        ConfigError: When it is no such folder.
        DataError: When a table is damaged, or no row can be learned from.
    """
    tables = JobFolder(path.resolve()).tables
    about = tables.about()
    if about is None or about.get("kind") != "labels":
        raise ConfigError(f"{path} holds no labels: make them with `memsif oas label`")
    instances, rows = tables.read("instances"), tables.read("labels")
    if not instances.num_rows:
        raise DataError(f"{path}: no question was labelled")
    described = instances.to_pylist()
    everything = gather(
        (_instance(row, feature_set) for row in described), (_outcome(row) for row in rows.to_pylist())
    )
    usable = everything.usable()
    if not len(usable) or len(usable.known()) < len(ACTIONS):
        raise DataError(f"{path}: no question and budget has a utility of every action")
    types = {row["question_id"]: row["category"] for row in described}
    return Labels(path.resolve(), about, usable, len(everything) - len(usable), types, rows)


def _instance(row: Mapping[str, Any], feature_set: FeatureSet) -> Instance:
    by_name = dict(zip(row["feature_names"], row["features"], strict=True))
    names = NAMES[feature_set]
    features = Features(names, tuple(by_name[name] for name in names), row["embedder"])
    return Instance(row["question_id"], row["budget"], features)


def _outcome(row: Mapping[str, Any]) -> Outcome:
    return Outcome(row["question_id"], row["budget"], Action(row["action"]), row["utility"])
