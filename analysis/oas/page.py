"""The report on packing: tables and figures of one study on a page beside its labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from matplotlib.figure import Figure

from analysis.figures import oas as figures
from analysis.figures.style import as_svg
from analysis.oas.costs import label_grid
from analysis.oas.grids import (
    accuracy_grid,
    gain_grid,
    mlp_grid,
    reliability_grid,
    share_grid,
    stratum_grid,
    threshold_grid,
)
from analysis.oas.study import MLP, OasStudy, Split
from analysis.page import Grid, Picture, Section, write_page
from memsif_ray.packing.mechanism import crossover_curve
from memsif_ray.packing.training import training_fingerprint

_LEARNED = ("router", "router-safe", MLP, "oracle")
_CURVE = [round(8 * 2 ** (step / 8)) for step in range(8 * 7 + 1)]
"""Budgets of the simulation, from 8 to 1,024 tokens."""


def grids(study: OasStudy) -> list[Grid]:
    """The tables of a study in reading order; what is undefined has none."""
    learned = "cross-fitted" if study.fitted else "fixed policies only"
    found = [
        accuracy_grid(study.policies, "oas-accuracy", f"Accuracy by budget, {learned}"),
        gain_grid(study.policies, "oas-gains", f"Gain over retention, {learned}"),
        stratum_grid(study.strata),
        *(grid for grid in (mlp_grid(study), threshold_grid(study), reliability_grid(study)) if grid),
    ]
    if study.fitted:
        found.append(share_grid(study.policies, "oas-shares", "Chosen actions, cross-fitted"))
    return found


def shown(study: OasStudy) -> list[Grid]:
    """All tables of a study, those of its splits too, for a terminal."""
    apart = [
        *split_grids(study.split, "split", "Fitted, calibrated and tested once"),
        *split_grids(study.history, "history", "Full histories, retrieved candidates"),
    ]
    return [*grids(study), *apart]


def split_grids(split: Split | None, name: str, title: str) -> list[Grid]:
    """The tables of one division into fit, calibration and test questions."""
    if split is None:
        return []
    sizes = "/".join(map(str, split.sizes))
    return [
        accuracy_grid(split.result.rows, f"oas-{name}-accuracy", f"{title}, {sizes} questions: accuracy"),
        gain_grid(split.result.rows, f"oas-{name}-gains", f"{title}, {sizes} questions: gain over retention"),
    ]


def write_oas_page(study: OasStudy, folder: Path | None = None) -> Path:
    """`report.html` in the labels' folder, or in another; returns its path."""
    every = {grid.name: grid for grid in grids(study)}
    sections = [
        *([Section("What is undefined here", study.undefined)] if study.undefined else []),
        Section(
            "When: accuracy by budget",
            parts=[
                *_picture(
                    "oas-accuracy-by-budget",
                    "Accuracy by budget and operator",
                    figures.accuracy_by_budget(study.accuracies),
                    "Whiskers: 95 % bootstrap of questions; a hollow point has no interval.",
                ),
                every["oas-accuracy"],
                every["oas-gains"],
                label_grid(study.labels.rows),
            ],
        ),
        Section("Coverage and replacement", parts=[*_strata(study), every["oas-strata"], *_mechanism()]),
        *_router_section(study, every),
        *_split_section(study.split, "split", "Fitted, calibrated and tested once"),
        *_split_section(study.history, "history", "Full histories, retrieved candidates"),
    ]
    title = f"Packing under a budget: {study.labels.about['dataset']}"
    return write_page(folder or study.labels.path, title, sections, facts=_facts(study))


def _strata(study: OasStudy) -> Iterator[Picture]:
    yield from _picture(
        "oas-gain-by-fit",
        "Gain by how much of the evidence fits",
        figures.gain_by_stratum(study.strata),
        "Above zero the operator beats retention. Hollow: one question, or all differences equal.",
    )


def _mechanism() -> Iterator[Picture]:
    yield from _picture(
        "oas-mechanism",
        "The mechanism, simulated",
        figures.mechanism(_CURVE, crossover_curve(_CURVE)),
        "Proposition 1 on simulated clusters of six notes of about 60 tokens: what the record says that "
        "retention had to leave out, what it says worse than the raw notes, and the sum.",
    )


def _router_section(study: OasStudy, every: Mapping[str, Grid]) -> Iterator[Section]:
    if study.fitted is None:
        return
    learned = [row for row in study.policies if row.policy in _LEARNED]
    yield Section(
        "Which: the router",
        parts=[
            *_picture(
                "oas-action-shares",
                "Chosen actions by budget",
                figures.action_shares(learned),
                "Cross-fitted policies, and the oracle that sees the outcomes.",
            ),
            every["oas-shares"],
            *_picture(
                "oas-help-harm",
                "Help and harm",
                figures.help_and_harm(learned),
                "Instances that did better (up) or worse (down, hatched) than by retention.",
            ),
            *_picture(
                "oas-calibration",
                "Predicted and realised utility",
                figures.calibration(study.calibration),
                "Cross-fitted predictions in fifths; dotted: perfect agreement.",
            ),
            *(every[name] for name in ("oas-reliability", "oas-thresholds", "oas-mlp") if name in every),
        ],
    )


def _split_section(split: Split | None, name: str, title: str) -> Iterator[Section]:
    if split is not None:
        harmful = ", ".join(f"{policy} {count}" for policy, count in split.result.harmful.items() if count)
        told = f"Instances that did worse than by retention: {harmful or 'none'}."
        yield Section(title, [told], split_grids(split, name, title))


def _picture(name: str, title: str, figure: Figure, caption: str) -> Iterator[Picture]:
    yield Picture(name, title, as_svg(figure, title), caption)


def _facts(study: OasStudy) -> dict[str, str]:
    about, labels = study.labels.about, study.labels
    state = "complete" if about.get("complete") else "incomplete: some rows are missing"
    return {
        "Labels": f"{labels.path.name} ({state})",
        "Data": f"{about['dataset']}, {about['source']}; {about['evidence']} evidence",
        "Questions": f"{len(labels.questions)} of {about['askable']}; {labels.refused} row(s) refused",
        "Budgets": ", ".join(map(str, about["budgets"])),
        "Realisations": str(about["realisations"]),
        "Answers": f"{about['model']}, graded by {about['grader']}",
        "Features": f"{labels.data.feature_set}, {labels.data.embedder}",
        "Rows": training_fingerprint(labels.data),
    }
