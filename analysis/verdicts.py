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
from memsif_ray.evaluation.profiles import AUDITED
from memsif_ray.schemas import CALLS, VERDICTS

_ANSWER = ("run", "method", "question_id")
_KEY = (*_ANSWER, "profile")
_JUDGE = pl.col("stage") == STAGE


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
    """Rows of `schemas.CALLS` from the run folder; of judges, only those behind the verdicts of `profile`.

    A grading takes over what is known: verdicts of the run under the same name, and against corrected
    references those against the released ones. Their calls are part of what it cost; calls on an answer that
    was judged anew are not.
    """
    own = scan(run / "tables" / "calls.parquet", CALLS)
    judged = pl.LazyFrame(CALLS.empty_table())
    for folder in _graded_in(run, profile):
        calls = scan(folder / "tables" / "calls.parquet", CALLS).filter(_JUDGE)
        judged = pl.concat([judged, calls.join(judged, on=_ANSWER, how="anti")])
    return pl.concat([own.filter(~_JUDGE), judged])


def _graded_in(run: Path, profile: str) -> list[Path]:
    """Folders of the gradings that verdicts of a name are from, the last first; the run itself is one."""
    released = profile.removesuffix(AUDITED)
    by_name = {about.get("profile", folder.name): folder for folder, about in gradings(run)}
    if profile != released and profile not in by_name:
        return []
    later = [by_name[name] for name in dict.fromkeys((profile, released)) if name in by_name]
    return [*later, run] if own_profile(run, default=released) == released else later


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
