"""A report on one or several finished runs: every table and picture of the comparison on one page."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.oas.packings import packings
from analysis.page import Section, write_page
from analysis.report.chapter import chapter
from analysis.report.failures import failures
from analysis.report.provenance import problems, provenance
from analysis.report.study import Run, Study, read_runs, studies
from analysis.verdicts import own_profile

FAILURES = 10


def write_report(
    paths: Sequence[Path],
    folder: Path,
    *,
    reference: str = "memsif",
    profile: str | None = None,
    failures_shown: int = FAILURES,
) -> Path:
    """Report on run folders; returns the path of the page.

    Args:
        paths: Run folders, at least one.
        folder: Where the page, its tables and its figures go.
        reference: Method that the others are compared with.
        profile: Judge profile whose verdicts are the accuracy; None = the first run's own.
        failures_shown: At most this many failures per run and method.
    """
    runs = read_runs(paths)
    profile = profile or own_profile(paths[0])
    found = studies(runs, profile=profile, reference=reference)
    chapters = [chapter(study, alone=len(found) == 1) for study in found]
    return write_page(
        folder,
        f"Memory benchmark: {', '.join(study.dataset for study in found)}",
        [
            *(section for one in chapters for section in one),
            *packings(runs),
            _failures(found, failures_shown),
            provenance(runs),
        ],
        facts={
            "Runs": "\n".join(_state(run, several=len(runs) > 1) for run in runs),
            "Reference": ", ".join(dict.fromkeys(study.reference for study in found)),
            "Judge profile": profile,
        },
    )


def _state(run: Run, *, several: bool) -> str:
    missing = problems(run)
    label = f" [{run.label}]" if several and run.label != run.path.name else ""
    state = f"incomplete: {'; '.join(missing)}" if missing else "complete"
    return f"{run.path.name}{label}: {state}"


def _failures(found: Sequence[Study], limit: int) -> Section:
    browsed = [failures(study, run, limit) for study in found for run in study.runs]
    entries = [entry for shown, _ in browsed for entry in shown]
    total = sum(count for _, count in browsed)
    if not total:
        return Section("Failures", ["No answer failed or was judged wrong."])
    text = (
        f"{len(entries):,} of {total:,} answers that failed, were judged wrong or could not be judged: at "
        f"most {limit} per run and method, in the order of the data. The whole story of one is told by "
        "memsif show RUN --question ID."
    )
    return Section("Failures", [text], entries)
