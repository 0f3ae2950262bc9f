"""A report on one or several finished runs: every table and picture of the comparison on one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from analysis import grids, more_grids
from analysis.comparisons import differences, paired
from analysis.failures import failures
from analysis.figures import benchmark
from analysis.figures.style import as_svg
from analysis.page import Folded, Grid, Picture, Section, write_page
from analysis.provenance import problems, provenance
from analysis.questions import per_question
from analysis.scores import by_profile
from analysis.study import Run, Study, read_runs, studies

Row = dict[str, Any]
Part = Picture | Grid | Folded
BUDGETS = ("packing.budget", "memory.retrieval.context_tokens")
"""Settings that are budgets: runs that differ in one give a curve."""
FAILURES = 10


def write_report(
    paths: Sequence[Path],
    folder: Path,
    *,
    reference: str = "memsif",
    profile: str = "memsif",
    failures_shown: int = FAILURES,
) -> Path:
    """Report on run folders; returns the path of the page.

    Args:
        paths: Run folders, at least one.
        folder: Where the page, its tables and its figures go.
        reference: Method that the others are compared with.
        profile: Judge profile whose verdicts are the accuracy.
        failures_shown: At most this many failures per run and method.
    """
    runs = read_runs(paths)
    of_dataset = studies(runs, profile=profile, reference=reference)
    chapters = [_Chapter(study, f"-{study.dataset}" if of_dataset[1:] else "") for study in of_dataset]
    sections = [section for chapter in chapters for section in chapter.sections()]
    return write_page(
        folder,
        f"Memory benchmark: {', '.join(study.dataset for study in of_dataset)}",
        [*sections, _failure_section(runs, profile, failures_shown), provenance(runs)],
        facts=_facts(runs, of_dataset, profile),
    )


def _facts(runs: Sequence[Run], of_dataset: Sequence[Study], profile: str) -> dict[str, str]:
    missing = [(run, problems(run)) for run in runs]
    states = [f"{run.path.name}: {'; '.join(found) or 'complete'}" for run, found in missing]
    return {
        "Runs": "\n".join(run.path.name + (f" ({run.label})" if runs[1:] else "") for run in runs),
        "Compared with": ", ".join(dict.fromkeys(study.reference for study in of_dataset)),
        "Judge profile": profile,
        "State": "\n".join(states),
    }


def _failure_section(runs: Sequence[Run], profile: str, limit: int) -> Section:
    found = [failures(run, profile, limit) for run in runs]
    entries = [entry for shown, _ in found for entry in shown]
    total = sum(count for _, count in found)
    text = (
        f"Showing {len(entries)} of {total} answers that failed, were judged wrong or could not be judged; "
        f"at most {limit} per method, in the order of the data. `memsif show RUN --question ID` tells the "
        "whole story of one."
    )
    return Section("Failures", [text if total else "No answer failed or was judged wrong."], entries)


class _Chapter:
    """The sections of one dataset. File names end in `suffix`, which tells the datasets apart."""

    def __init__(self, study: Study, suffix: str) -> None:
        self._study, self._suffix = study, suffix
        self._summary, self._reference = study.summary, study.reference

    def sections(self) -> Iterator[Section]:
        """Those that have something to show."""
        if not self._summary.scores.height:
            yield Section(f"Results{self._of}", ["No question was asked, so there is nothing to compare."])
            return
        yield self._accuracy()
        yield from self._more("Significance", self._significance())
        yield from self._more("Cost", self._costs())
        yield from self._more("Ablations", self._ablations())
        yield from self._more("Settings", self._settings())
        yield from self._more("Repeated runs", self._spread())
        yield from self._more("Judges", self._judges())

    @property
    def _of(self) -> str:
        return f" on {self._study.dataset}" if self._suffix else ""

    def _more(self, title: str, parts: list[Part]) -> Iterator[Section]:
        if parts:
            yield Section(f"{title}{self._of}", [], parts)

    def _accuracy(self) -> Section:
        scores, name = self._summary.scores, self._named
        nothing = scores["acc"].null_count() == scores.height
        told = ["No answer was graded under this profile, so there is no ACC: F1 and recall remain."]
        rows = scores.to_dicts()
        ordered = sorted(rows, key=lambda row: (row["method"] != self._reference, row["method"]))
        parts: list[Part] = [
            grids.main_grid(self._summary, self._reference, name("main")),
            *self._picture(
                "accuracy-by-category",
                "Accuracy by category",
                benchmark.category_bars(ordered, reference=self._reference),
                f"{self._reference} is set off by colour; whiskers are Wilson intervals (95 %).",
            ),
            *self._picture(
                "f1-by-category-bars",
                "F1 by category",
                benchmark.category_bars(ordered, reference=self._reference, metric="f1"),
                "Token F1 against the reference answer, which needs no judge.",
            ),
            grids.interval_grid(self._summary, self._reference, name("intervals")),
            *(
                grids.category_grid(self._summary, self._reference, column, name(file), title)
                for column, file, title in (
                    ("f1", "f1-by-category", "F1 by category"),
                    ("evidence_recall", "recall-by-category", "Evidence recall by category"),
                )
            ),
        ]
        return Section(f"Accuracy{self._of}", told if nothing else [], parts)

    @cached_property
    def _f1_gains(self) -> pl.DataFrame:
        questions = per_question(self._study.table("answers"), self._study.verdicts)
        pairs = paired(questions, self._reference, "f1").collect()
        return differences(pairs, stratified=self._study.stratified)

    def _significance(self) -> list[Part]:
        gains = self._summary.gains
        if not gains.height:
            return []
        panels = {"Δ ACC": _lines(gains), "Δ F1": _lines(self._f1_gains)}
        return [
            grids.difference_grid(gains, self._f1_gains, self._reference, self._named("differences")),
            *self._picture(
                "forest",
                f"{self._reference} against the others",
                benchmark.forest(panels),
                "Paired bootstrap, 95 %. A hollow point has no interval; the table says why.",
            ),
        ]

    def _costs(self) -> list[Part]:
        totals = more_grids.totals(self._summary)
        rows = [totals[method] for method in grids.methods_of(self._summary, self._reference)]
        return [
            more_grids.cost_grid(self._summary, self._reference, self._named("costs")),
            *self._picture(
                "tradeoff",
                "Accuracy and cost",
                benchmark.tradeoff(rows),
                "Upper left is better. Tokens of construction, retrieval and answer, per question.",
            ),
            more_grids.cost_parts_grid(self._summary, self._reference, self._named("cost-parts")),
        ]

    def _ablations(self) -> list[Part]:
        study = self._study
        bases = {study.name(method, run): method for run in study.runs for method in run.methods}
        grid = more_grids.ablation_grid(
            self._summary, self._f1_gains, self._reference, bases, self._named("ablations")
        )
        return [grid] if grid else []

    def _settings(self) -> list[Part]:
        parts: list[Part] = []
        for method, found in self._repeated().items():
            file = self._named(f"sensitivity-{_file_name(method)}")
            rows = [(run.settings, row) for run, row in found]
            if any(run.settings for run, _ in found):
                parts.append(more_grids.settings_grid(method, rows, file))
        return [*self._curves(), *parts]

    def _repeated(self) -> dict[str, list[tuple[Run, Row]]]:
        """Methods of several runs, with each run's row."""
        totals = more_grids.totals(self._summary)
        found: dict[str, list[tuple[Run, Row]]] = {}
        for run in self._study.runs:
            for method in run.methods:
                found.setdefault(method, []).append((run, totals[self._study.name(method, run)]))
        return {method: rows for method, rows in sorted(found.items()) if rows[1:]}

    def _curves(self) -> Iterator[Picture]:
        for budget in BUDGETS:
            rows = [
                {**row, "series": _series(method, run, budget), "budget": run.settings[budget]}
                for method, found in self._repeated().items()
                for run, row in found
                if run.settings.get(budget) is not None
            ]
            yield from self._picture(
                f"budget-{_file_name(budget)}",
                f"Accuracy by {budget}",
                benchmark.curves(rows, label=f"{budget} (tokens, log scale)"),
                "One run per point.",
            )

    def _spread(self) -> list[Part]:
        spread = self._summary.spread
        return [more_grids.spread_grid(spread, self._named("spread"))] if spread.height else []

    def _judges(self) -> list[Part]:
        profiles = by_profile(self._study.table("answers"), self._study.table("verdicts"))
        methods = grids.methods_of(self._summary, self._reference)
        if not profiles.height or profiles["profile"].n_unique() < 2:
            return []
        return [more_grids.profile_grid(profiles, methods, self._named("judges"))]

    def _named(self, name: str) -> str:
        return name + self._suffix

    def _picture(self, name: str, title: str, figure: Figure | None, caption: str) -> Iterator[Picture]:
        if figure is not None:
            named = f"{title}{self._of}"
            yield Picture(self._named(name), title, as_svg(figure, named), caption)


def _lines(gains: pl.DataFrame) -> list[benchmark.Difference]:
    return [
        benchmark.Difference(
            row["method"], row["point"], *((row["low"], row["high"]) if not row["flag"] else (None, None))
        )
        for row in gains.to_dicts()
        if row["point"] is not None
    ]


def _series(method: str, run: Run, budget: str) -> str:
    rest = ", ".join(
        f"{key.rpartition('.')[2]}={value}" for key, value in run.settings.items() if key != budget
    )
    return f"{method} [{rest}]" if rest else method


def _file_name(text: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in text.lower()).strip("-")
