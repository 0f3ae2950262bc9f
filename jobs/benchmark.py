"""Run a benchmark: build memories, ask questions, grade, and print the table.

    python -m jobs.benchmark jobs/conf/sample.yaml --set model.base_url=http://host:8000/v1

Exit codes: 0 everything is there, 1 some units or questions failed (start again to retry just those),
2 the configuration or the data is wrong.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import polars as pl
from rich.console import Console

from analysis.rendering import render_text
from analysis.tables import Summary, summarise
from jobs.arguments import parse
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.runtime.benchmark import RunResult, run_benchmark


def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    errors = Console(stderr=True)
    try:
        config = parse(argv, about=str(__doc__))
        result = run_benchmark(config)
    except (ConfigError, DataError) as exc:
        errors.print(str(exc), style="red", markup=False)
        return 2
    Console().print(render_text(_summary(result, stratified=config.data.dataset == "longmemeval")))
    for line in result.report():
        errors.print(line, markup=False, highlight=False)
    return result.exit_code


def _summary(result: RunResult, *, stratified: bool) -> Summary:
    tables = result.folder.tables
    answers, verdicts, calls = (
        pl.scan_parquet(tables.file(name)) for name in ("answers", "verdicts", "calls")
    )
    return summarise(answers, verdicts, calls, stratified=stratified)


if __name__ == "__main__":
    sys.exit(main())
