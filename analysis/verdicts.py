"""Every verdict on a run's answers: those of the run itself, and those of later gradings.

A run's own tables are sealed and stay as they are. What `memsif judge` adds lies in `grades/<name>/` under
the run, each with its own tables and manifest; here both become one table.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from analysis.questions import scan
from memsif_ray.evaluation.judge import STAGE
from memsif_ray.schemas import CALLS, VERDICTS

_KEY = ("run", "method", "question_id", "profile")


def scan_verdicts(run: Path) -> pl.LazyFrame:
    """Rows of `schemas.VERDICTS` from the run folder; column `profile` tells gradings apart.

    A later grading of the same name takes the place of the run's own rows, answer by answer where it has an
    outcome: so answers get graded that the run could not grade. A grading without a manifest is not whole,
    and not read.
    """
    own = scan(run / "tables" / "verdicts.parquet", VERDICTS)
    later = [scan(folder / "tables" / "verdicts.parquet", VERDICTS) for folder, _ in gradings(run)]
    ungraded = pl.col("outcome").is_null()
    return (
        pl.concat([*later, own])
        .sort(ungraded, maintain_order=True)
        .unique(_KEY, keep="first", maintain_order=True)
    )


def scan_calls(run: Path, profile: str) -> pl.LazyFrame:
    """Rows of `schemas.CALLS` from the run folder; of judges, only those behind the verdicts of `profile`."""
    own = scan(run / "tables" / "calls.parquet", CALLS)
    if own_profile(run, default=profile) != profile:
        own = own.filter(pl.col("stage") != STAGE)
    later = [
        scan(folder / "tables" / "calls.parquet", CALLS)
        for folder, about in gradings(run)
        if about.get("profile") == profile
    ]
    return pl.concat([own, *later])


def gradings(run: Path) -> Iterator[tuple[Path, Mapping[str, Any]]]:
    """Later gradings of a run that have a manifest: their folders, and what it says."""
    for folder in sorted((run / "grades").glob("*")):
        manifest = folder / "manifest.json"
        if manifest.is_file():
            yield folder, json.loads(manifest.read_text(encoding="utf-8"))


def own_profile(run: Path, *, default: str = "memsif") -> str:
    """The name of the run's own grading."""
    names = scan(run / "tables" / "verdicts.parquet", VERDICTS).select(pl.col("profile").unique()).collect()
    return names.item() if names.height == 1 else default
