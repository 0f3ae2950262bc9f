"""Build the memories of a run and stop there; `jobs.benchmark` with the same configuration goes on from it.

    python -m jobs.build_memories jobs/conf/sample.yaml

Exit codes are those of `jobs.benchmark`.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from rich.console import Console

from jobs.arguments import job, parse
from memsif_ray.runtime.benchmark import run_building


@job
def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    errors = Console(stderr=True)
    result = run_building(parse(argv, about=str(__doc__)))
    for line in result.report():
        errors.print(line, markup=False, highlight=False, soft_wrap=True)
    return result.exit_code


if __name__ == "__main__":
    sys.exit(main())
