"""What a report says about the runs on one dataset, section by section."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import polars as pl
from matplotlib.figure import Figure

from analysis.figures import benchmark
from analysis.figures.style import as_svg
from analysis.page import Folded, Grid, Picture, Section
from analysis.report import cost_grids, grids, reply_grids, variant_grids
from analysis.report.study import Run, Study
from analysis.scores import TOTAL, by_profile

Row = dict[str, Any]
Part = Picture | Grid | Folded
BUDGETS = ("packing.budget", "memory.retrieval.context_tokens")
"""Settings that are budgets: runs that differ in one give a curve."""
_WITHOUT_A_JUDGE = (
    ("f1", "f1-scores", "F1 by category"),
    ("evidence_recall", "recall", "Evidence recall by category"),
    ("date_match", "date-match", "Exact date match by category"),
)
"""Scores that need no judge: their column, their file, their title."""


def chapter(study: Study, *, alone: bool) -> list[Section]:
    """The sections of one dataset that have something to show.

    Args:
        study: Runs on the dataset.
        alone: Whether the page is about this dataset only; otherwise its headings and files name it.
    """
    return list(_Chapter(study, "" if alone else study.dataset).sections())


class _Chapter:
    """What the sections of one dataset share."""

    def __init__(self, study: Study, named: str) -> None:
        self._study, self._summary, self._methods = study, study.summary, study.methods
        self._of, self._suffix = (f" on {named}", f"-{_file_name(named)}") if named else ("", "")

    def sections(self) -> Iterator[Section]:
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
        yield from self._more("Unusable replies", self._unusable())

    def _more(self, title: str, parts: list[Part]) -> Iterator[Section]:
        if parts:
            yield Section(f"{title}{self._of}", [], parts)

    def _accuracy(self) -> Section:
        scores, name = self._summary.scores, self._named
        rank = {name: place for place, name in enumerate((*self._methods, *grids.all_categories(scores)))}
        rows = sorted(scores.to_dicts(), key=lambda row: (rank[row["method"]], rank[row["category"]]))
        parts: list[Part] = [
            grids.main_grid(
                self._summary, self._methods, name("main"), fallbacks=reply_grids.fallbacks(self._decided)
            ),
            *self._picture(
                "accuracy-by-category",
                "Accuracy by category",
                benchmark.category_bars(rows, reference=self._methods[0]),
                f"{self._methods[0]} is set off by colour; whiskers are Wilson intervals (95 %).",
            ),
            *self._picture(
                "f1-by-category",
                "F1 by category, as bars",
                benchmark.category_bars(rows, reference=self._methods[0], metric="f1"),
                "Token F1 against the reference answer, which needs no judge.",
            ),
            grids.interval_grid(self._summary, self._methods, name("intervals")),
            *(
                grids.category_grid(self._summary, self._methods, column, name(file), title)
                for column, file, title in _WITHOUT_A_JUDGE
                if scores[column].count()
            ),
        ]
        return Section(f"Accuracy{self._of}", list(self._unscored()), parts)

    def _unscored(self) -> Iterator[str]:
        """Why there is no ACC, of nobody or of some methods."""
        scores = self._summary.scores
        if scores["acc"].null_count() == scores.height and not self._study.graded:
            yield "No answer was graded under this profile, so there is no ACC: F1 and recall remain."
            return
        waiting = scores.filter(pl.col("category") != TOTAL).group_by("method").agg(pl.col("ungraded").sum())
        left = dict(waiting.iter_rows())
        named = [f"{method} ({left[method]:,})" for method in self._methods if left[method]]
        if named:
            yield (
                f"Answers of {', '.join(named)} have no verdict and count neither way, while failed ones "
                "count as wrong: ACC may be too low, and there is none while most answers of a run wait."
            )

    def _significance(self) -> list[Part]:
        gains = self._summary.gains
        if not gains.height:
            return []
        panels = {"Δ ACC": self._lines(gains), "Δ F1": self._lines(self._study.f1_gains)}
        return [
            grids.difference_grid(gains, self._study.f1_gains, self._methods, self._named("differences")),
            *self._picture(
                "forest",
                f"Differences to {self._methods[0]}",
                benchmark.forest(panels),
                "Paired bootstrap, 95 %. A hollow point has no interval; the table says why.",
            ),
        ]

    def _costs(self) -> list[Part]:
        totals = grids.totals(self._summary)
        rows = [totals[method] for method in self._methods]
        return [
            cost_grids.cost_grid(self._summary, self._methods, self._named("costs")),
            *self._picture(
                "tradeoff",
                "Accuracy against tokens",
                benchmark.tradeoff(rows),
                "Upper left is better. Tokens of construction, retrieval and answer, per question.",
            ),
            cost_grids.token_grid(self._summary, self._methods, self._named("cost-tokens")),
            cost_grids.time_grid(self._summary, self._methods, self._named("cost-seconds")),
        ]

    def _ablations(self) -> list[Part]:
        variants = [method for method in self._methods if method.startswith("memsif:")]
        if not variants:
            return []
        methods = list(dict.fromkeys((self._methods[0], *variants)))
        name = self._named("ablations")
        return [variant_grids.ablation_grid(self._summary, self._study.f1_gains, methods, name)]

    def _settings(self) -> list[Part]:
        parts: list[Part] = []
        for method, found in self._repeated().items():
            file = self._named(f"sensitivity-{_file_name(method)}")
            rows = [(run.settings, row) for run, row in found]
            if any(run.settings for run, _ in found):
                parts.append(variant_grids.settings_grid(method, rows, file))
        return [*self._curves(), *parts]

    def _repeated(self) -> dict[str, list[tuple[Run, Row]]]:
        """Methods of several runs, with each run's row."""
        totals = grids.totals(self._summary)
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
                "One run per point; whiskers are Wilson intervals (95 %).",
            )

    def _spread(self) -> list[Part]:
        spread = self._summary.spread
        if not spread.height:
            return []
        return [variant_grids.spread_grid(spread, self._methods, self._named("spread"))]

    def _judges(self) -> list[Part]:
        profiles = by_profile(self._study.table("answers"), self._study.table("verdicts"))
        if not profiles.height or profiles["profile"].n_unique() < 2:
            return []
        return [variant_grids.profile_grid(profiles, self._methods, self._named("judges"))]

    def _unusable(self) -> list[Part]:
        return list(reply_grids.reply_grids(self._study.calls, self._decided, self._methods, self._suffix))

    @property
    def _decided(self) -> pl.LazyFrame:
        return reply_grids.decided(self._study.table("decisions"), self._study.table("fact_operations"))

    def _lines(self, gains: pl.DataFrame) -> list[benchmark.Difference]:
        rows = {row["method"]: row for row in gains.to_dicts() if row["point"] is not None}
        return [
            benchmark.Difference(method, row["point"], None if row["flag"] else (row["low"], row["high"]))
            for method in self._methods
            if (row := rows.get(method))
        ]

    def _named(self, name: str) -> str:
        return name + self._suffix

    def _picture(self, name: str, title: str, figure: Figure | None, caption: str) -> Iterator[Picture]:
        if figure is not None:
            named = f"{title}{self._of}"
            yield Picture(self._named(name), title, as_svg(figure, named), caption)


def _series(method: str, run: Run, budget: str) -> str:
    rest = ", ".join(
        f"{key.rpartition('.')[2]}={value}" for key, value in run.settings.items() if key != budget
    )
    return f"{method} [{rest}]" if rest else method


def _file_name(text: str) -> str:
    return "".join(character if character.isalnum() else "-" for character in text.lower()).strip("-")
