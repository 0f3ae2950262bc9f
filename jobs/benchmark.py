"""Run a benchmark: build memories, ask questions, grade, and print the table.

    python -m jobs.benchmark jobs/conf/sample.yaml --set model.base_url=http://host:8000/v1

Exit codes: 0 everything is there, 1 some units or questions failed (start again to retry just those),
2 the configuration or the data is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from analysis.rendering import render_text
from analysis.tables import read_summary
from jobs.arguments import parse
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.runtime.benchmark import run_benchmark


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    errors = Console(stderr=True)
    try:
        config = parse(argv, about=str(__doc__))
        result = run_benchmark(config)
    except (ConfigError, DataError) as exc:
        errors.print(str(exc), style="red", markup=False, soft_wrap=True)
        return 2
    stratified = config.data.dataset == "longmemeval"  # its questions share no conversation
    Console().print(render_text(read_summary(result.folder.path, stratified=stratified)))
    for line in result.report():
        errors.print(line, markup=False, highlight=False, soft_wrap=True)
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())
