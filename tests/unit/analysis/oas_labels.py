"""Folders of labelling jobs, written without running anything."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from memsif_ray.packing.actions import ACTIONS
from memsif_ray.packing.features import EXTENDED
from memsif_ray.packing.utilities import Utilities
from memsif_ray.schemas import TABLES
from memsif_ray.storage.jobs import JobFolder
from memsif_ray.storage.tables import encode
from tests.unit.analysis.conftest import complete

ABOUT = {
    "kind": "labels",
    "dataset": "longmemeval",
    "source": "planted.json",
    "sha256": "0" * 64,
    "evidence": "gold",
    "budgets": [32, 64, 128, 256],
    "realisations": 1,
    "grader": "f1",
    "model": "scripted",
    "embedder": "hash-64",
    "questions": 0,
    "askable": 470,
    "complete": True,
}


def write_labels(path: Path, data: Utilities, *, without: Mapping[str, int] | None = None) -> Path:
    """One realisation per row of `data`; `without` names questions and budgets whose merge has no utility."""
    ungraded = set((without or {}).items())
    labels, instances = [], []
    for i, (question, budget) in enumerate(zip(data.questions.tolist(), data.budgets.tolist(), strict=True)):
        where: dict[str, Any] = {"question_id": question, "budget": budget}
        extended = np.zeros(len(EXTENDED))
        extended[: data.features.shape[1]] = data.features[i]
        category = ["S-hop", "M-hop", "Temp", "Kno"][int(data.features[i, 7:11].argmax())]
        described = {"category": category, "evidence": "gold", "embedder": data.embedder}
        instances.append(
            complete("instances", where | described)
            | {"feature_names": EXTENDED, "features": extended.tolist()}
        )
        for action, value in zip(ACTIONS, data.values[i].tolist(), strict=True):
            utility = None if action == "merge" and (question, budget) in ungraded else value
            row = where | {"action": action, "utility": utility, "tokens": budget // 2, "grader": "f1"}
            labels.append(complete("labels", row))
    folder = JobFolder(path)
    folder.tables.write(
        {
            "labels": [encode(labels, TABLES["labels"])],
            "instances": [encode(instances, TABLES["instances"])],
        },
        ABOUT,
    )
    return path
