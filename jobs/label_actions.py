"""Carry out every packing action for every question and budget, and grade what comes of it (OAS, 3.3).

    python -m jobs.label_actions jobs/conf/label_locomo.yaml --set data.path=/data/locomo10.json

Exit codes: 0 everything is there, 1 some rows failed (start again to retry just those), 2 the configuration
or the data is wrong, 3 a service is not available.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from analysis.diagnosis.pages import as_text
from analysis.oas.costs import label_grid
from jobs.arguments import job, parse
from memsif_ray.runtime.labelling import label_actions


@job
def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    errors = Console(stderr=True)
    result = label_actions(parse(argv, about=str(__doc__)))
    Console().print(as_text(label_grid(result.folder.tables.read("labels"))))
    for line in result.report():
        errors.print(line, markup=False, highlight=False, soft_wrap=True)
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())
