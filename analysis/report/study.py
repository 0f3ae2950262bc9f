"""Finished runs to be reported together, and what sets them apart.

A method that several of them ran gets a name of its own in each, such as `memsif [alpha=0.6]`, so that
runs are compared side by side exactly as methods are.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
import yaml

from analysis.comparisons import differences, paired
from analysis.questions import per_question, scan
from analysis.tables import Summary, summarise
from analysis.verdicts import scan_calls, scan_verdicts
from memsif_ray.schemas import TABLES

_NOT_MEANT = ("methods", "data", "execution")
"""Settings that say what was compared or how fast, not how a method works."""
_WHERE = ("base_url", "api_key_env", "max_in_flight", "deadline_s")
_MOST_IN_LABEL = 3


@dataclass(frozen=True)
class Run:
    """One run folder.

    Attributes:
        path: The folder.
        config: Its `config.yaml` as plain data.
        manifest: Its `manifest.json` as plain data.
        settings: Settings in which it differs from the runs beside it, by dotted key.
        label: Short form of them; the folder's name when they do not tell the runs apart.
    """

    path: Path
    config: Mapping[str, Any]
    manifest: Mapping[str, Any]
    settings: Mapping[str, Any]
    label: str

    def table(self, name: str) -> pl.LazyFrame:
        """A table of the run, verdicts with those of later gradings; empty when it has none."""
        if name == "verdicts":
            return scan_verdicts(self.path)
        return scan(self.path / "tables" / f"{name}.parquet", TABLES[name])

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """Methods that were asked something."""
        asked = self.table("answers").select(pl.col("method").unique().sort()).collect()
        return tuple(asked["method"])

    @cached_property
    def datasets(self) -> tuple[str, ...]:
        """Datasets of its conversations."""
        known = self.table("conversations").select(pl.col("dataset").unique().sort()).collect()
        return tuple(known["dataset"])


def read_runs(paths: Sequence[Path]) -> tuple[Run, ...]:
    """Runs in the order given, each told apart from the others."""
    runs = [Run(path, _yaml(path / "config.yaml"), _json(path / "manifest.json"), {}, "") for path in paths]
    flat = [dict(_flattened(run.config)) for run in runs]
    keys = sorted({key for settings in flat for key in settings})
    varying = [key for key in keys if len({repr(settings.get(key)) for settings in flat}) > 1]
    told = [{key: settings.get(key) for key in varying} for settings in flat]
    labels = [", ".join(f"{_short(key, varying)}={value}" for key, value in own.items()) for own in told]
    if len(set(labels)) < len(labels) or len(varying) > _MOST_IN_LABEL:
        labels = [path.name for path in paths]
    return tuple(
        replace(run, settings=own, label=label) for run, own, label in zip(runs, told, labels, strict=True)
    )


def _flattened(plain: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in plain.items():
        if (not above and key in _NOT_MEANT) or key in _WHERE:
            continue
        if isinstance(value, dict):
            yield from _flattened(value, f"{above}{key}.")
        else:
            yield above + key, value


def _short(key: str, among: Sequence[str]) -> str:
    last = key.rpartition(".")[2]
    return last if sum(other.rpartition(".")[2] == last for other in among) == 1 else key


def _yaml(path: Path) -> dict[str, Any]:
    return yaml.safe_load(path.read_text(encoding="utf-8")) or {} if path.is_file() else {}


def _json(path: Path) -> dict[str, Any]:
    return dict(json.loads(path.read_text(encoding="utf-8"))) if path.is_file() else {}


@dataclass(frozen=True)
class Study:
    """Runs on one dataset, as one set of methods.

    Attributes:
        runs: At least one.
        profile: Judge profile whose verdicts are the accuracy.
        wanted: Method to compare the others with; the first run that has it is meant.
    """

    runs: tuple[Run, ...]
    profile: str
    wanted: str

    @property
    def dataset(self) -> str:
        """Of the conversations."""
        return " and ".join(self.runs[0].datasets) or "no conversation"

    @property
    def stratified(self) -> bool:
        """Whether questions share no conversation, and are resampled within categories."""
        return self.runs[0].datasets == ("longmemeval",)

    def name(self, method: str, run: Run) -> str:
        """What a method of a run is called here."""
        runs = Counter(method for run in self.runs for method in run.methods)
        return method if runs[method] < 2 else f"{method} [{run.label}]"

    @cached_property
    def reference(self) -> str:
        """Name here of the method that the others are compared with: of those there, if `wanted` is not."""
        having = [run for run in self.runs if self.wanted in run.methods]
        if having:
            return self.name(self.wanted, having[0])
        run = next((run for run in self.runs if run.methods), None)
        return self.name(run.methods[0], run) if run else self.wanted

    @cached_property
    def methods(self) -> tuple[str, ...]:
        """All names here: the reference first, its variants next; runs of one method in the order given."""
        first = self.reference.partition(" [")[0]
        ranked = [
            (
                self.name(m, run) != self.reference,
                m.partition(":")[0] != first.partition(":")[0],
                m,
                place,
                run,
            )
            for place, run in enumerate(self.runs)
            for m in run.methods
        ]
        return tuple(self.name(m, run) for *_, m, _, run in sorted(ranked, key=lambda rank: rank[:4]))

    def table(self, name: str) -> pl.LazyFrame:
        """Rows of all runs, methods by their names here."""
        return pl.concat([self._renamed(run, run.table(name)) for run in self.runs])

    @property
    def calls(self) -> pl.LazyFrame:
        """Calls of all runs, with those of the judge whose verdicts are shown, and of no other."""
        return pl.concat([self._renamed(run, scan_calls(run.path, self.profile)) for run in self.runs])

    def _renamed(self, run: Run, table: pl.LazyFrame) -> pl.LazyFrame:
        names = {method: self.name(method, run) for method in run.methods}
        return table.with_columns(pl.col("method").replace(names))

    @property
    def _verdicts(self) -> pl.LazyFrame:
        return self.table("verdicts").filter(pl.col("profile") == self.profile)

    @cached_property
    def graded(self) -> bool:
        """Whether the profile has a verdict on anything."""
        return bool(self._verdicts.select(pl.col("outcome").is_not_null().any()).collect().item())

    @cached_property
    def f1_gains(self) -> pl.DataFrame:
        """The reference minus each other method in F1, as `summary.gains` has it for accuracy."""
        questions = per_question(self.table("answers"), self._verdicts)
        pairs = paired(questions, self.reference, "f1").collect()
        return differences(pairs, stratified=self.stratified)

    @cached_property
    def summary(self) -> Summary:
        """Of all methods."""
        return summarise(
            self.table("answers"),
            self.table("verdicts"),
            self.calls,
            reference=self.reference,
            profile=self.profile,
            stratified=self.stratified,
        )


def studies(runs: Sequence[Run], *, profile: str, reference: str) -> tuple[Study, ...]:
    """One study per dataset, since scores of two datasets are not comparable."""
    together: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        together.setdefault(run.datasets, []).append(run)
    return tuple(Study(tuple(some), profile, reference) for some in together.values())
