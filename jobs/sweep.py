"""Run a benchmark once per setting that the file's `sweep` lists, one after another.

    python -m jobs.sweep jobs/conf/alpha.yaml --set data.path=/data/locomo10.json

Each run has a folder of its own, as if it had been started alone; what is done is not done again. Exit codes
are those of `jobs.benchmark`, the worst of all runs.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from analysis.rendering import render_text
from analysis.tables import read_summary
from jobs.arguments import job, parse_sweep
from memsif_ray.runtime.benchmark import run_benchmark


@job
def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    errors = Console(stderr=True)
    worst = 0
    for point, config in parse_sweep(argv, about=str(__doc__)):
        result = run_benchmark(config)
        stratified = config.data.dataset == "longmemeval"  # its questions share no conversation
        Console().print(", ".join(f"{name}={value}" for name, value in point.items()), markup=False)
        Console().print(render_text(read_summary(result.folder.path, stratified=stratified)))
        for line in result.report():
            errors.print(line, markup=False, highlight=False, soft_wrap=True)
        worst = max(worst, result.exit_code)
    return worst


if __name__ == "__main__":
    sys.exit(main())
