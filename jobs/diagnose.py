"""Measure what a dataset demands of a memory on a cluster, and print the tables (MemSIF, Appendix A).

    python -m jobs.diagnose tsm jobs/conf/locomo.yaml --set data.path=locomo10.json
    python -m jobs.diagnose dum jobs/conf/locomo.yaml --set diagnosis.questions=100

The first argument is what to measure: nce, stats, tsm, validate or dum.

Exit codes: 0 everything is there, 1 some conversations failed (start again to retry just those), 2 the
configuration or the data is wrong, 3 a service is not available.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence

from rich.console import Console

from analysis.diagnosis.pages import (
    Report,
    as_text,
    corpus_report,
    dum_report,
    nce_report,
    tsm_report,
    validation_report,
)
from jobs.arguments import job, parse_kind
from memsif_ray.config import RunConfig
from memsif_ray.diagnostics.dispersion import Reading
from memsif_ray.runtime.diagnosis.dum import diagnose_dum
from memsif_ray.runtime.diagnosis.model_free import diagnose_corpus, diagnose_nce
from memsif_ray.runtime.diagnosis.tsm import diagnose_tsm
from memsif_ray.runtime.diagnosis.validation import diagnose_validation
from memsif_ray.runtime.tasks import JobResult

Outcome = tuple[Report, JobResult | None]
"""What to show, and the job behind it where there was one."""


@job
def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    errors = Console(stderr=True)
    kind, config = parse_kind(argv, tuple(_KINDS), about=str(__doc__))
    report, done = _KINDS[kind](config)
    Console().print(*map(as_text, report.grids), markup=False, highlight=False)
    for line in (*(done.report() if done else ()), f"report: {report.page}"):
        errors.print(line, markup=False, highlight=False, soft_wrap=True)
    return done.exit_code if done else 0


def _nce(config: RunConfig) -> Outcome:
    found = diagnose_nce(config, Reading(config.diagnosis.ids))
    report = nce_report(
        found.folder.path,
        found.source,
        found.spreads,
        found.summary,
        found.changes,
        reading=found.reading,
        selected=_selected(config),
    )
    return report, None


def _stats(config: RunConfig) -> Outcome:
    found = diagnose_corpus(config)
    folder, tokenizer = found.folder.path, found.tokenizer
    report = corpus_report(
        folder, found.source, found.summary, tokenizer=tokenizer, selected=_selected(config)
    )
    return report, None


def _tsm(config: RunConfig) -> Outcome:
    found = diagnose_tsm(config)
    report = tsm_report(
        found.job.folder.path,
        found.source,
        found.measures,
        found.averages,
        found.divisions,
        embedder=found.embedder,
        selected=_selected(config),
    )
    return report, found.job


def _validate(config: RunConfig) -> Outcome:
    found = diagnose_validation(config)
    report = validation_report(
        found.folder.path,
        found.tsm.source,
        found.judgements,
        judge=found.judge,
        embedder=found.tsm.embedder,
        selected=_selected(config),
    )
    return report, found.last_job


def _dum(config: RunConfig) -> Outcome:
    found = diagnose_dum(config)
    folder = found.scored.folder.path
    report = dum_report(folder, found.source, found.findings, about=found.about, selected=_selected(config))
    return report, found.last_job


def _selected(config: RunConfig) -> bool:
    return bool(config.data.conversations)


_KINDS: Mapping[str, Callable[[RunConfig], Outcome]] = {
    "nce": _nce,
    "stats": _stats,
    "tsm": _tsm,
    "validate": _validate,
    "dum": _dum,
}


if __name__ == "__main__":
    sys.exit(main())
