"""Measure temporal-structural misalignment of every conversation on a cluster, and print the tables.

    python -m jobs.diagnose jobs/conf/locomo.yaml --set data.path=locomo10.json

Exit codes: 0 everything is there, 1 some conversations failed (start again to retry just those), 2 the
configuration or the data is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from analysis.diagnosis_pages import as_text, tsm_report
from jobs.arguments import parse
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.runtime.diagnosis_tsm import diagnose_tsm


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    errors = Console(stderr=True)
    try:
        config = parse(argv, about=str(__doc__))
        found = diagnose_tsm(config)
    except (ConfigError, DataError) as exc:
        errors.print(str(exc), style="red", markup=False, soft_wrap=True)
        return 2
    report = tsm_report(
        found.job.folder.path,
        found.source,
        found.measures,
        found.averages,
        found.divisions,
        embedder=found.embedder,
        selected=bool(config.data.conversations),
    )
    Console().print(*map(as_text, report.grids), markup=False, highlight=False)
    for line in (*found.job.report(), f"report: {report.page}"):
        errors.print(line, markup=False, highlight=False, soft_wrap=True)
    return found.job.exit_code


if __name__ == "__main__":
    sys.exit(main())
