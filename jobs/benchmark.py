"""Run a benchmark: build memories, ask questions, grade, and print the table.

    python -m jobs.benchmark jobs/conf/sample.yaml --set model.base_url=http://host:8000/v1

Exit codes: 0 everything is there, 1 some units or questions failed (start again to retry just those),
2 the configuration or the data is wrong, 3 a service is not available.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from analysis.rendering import render_text
from analysis.tables import read_summary
from jobs.arguments import job, parse
from memsif_ray.runtime.benchmark import run_benchmark


@job
def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    errors = Console(stderr=True)
    config = parse(argv, about=str(__doc__))
    result = run_benchmark(config)
    stratified = config.data.dataset == "longmemeval"  # its questions share no conversation
    Console().print(render_text(read_summary(result.folder.path, stratified=stratified)))
    for line in result.report():
        errors.print(line, markup=False, highlight=False, soft_wrap=True)
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())
