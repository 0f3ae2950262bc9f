"""Train a packing router on the outcomes of a labelling job, and say how good it is (OAS, 4.4 and 7).

    python -m jobs.train_router runs/labels-longmemeval-gold-… --save router.json

Exit codes: 0 done, 2 the labels cannot be used.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from analysis.diagnosis.pages import as_text
from analysis.oas.page import shown, write_oas_page
from analysis.oas.study import study
from jobs.arguments import job
from memsif_ray.packing.folds import PAPER_SPLIT
from memsif_ray.storage.files import write_text
from memsif_ray.storage.labels import read_labels


@job
def main(argv: Sequence[str] | None = None) -> int:
    """Run the job; returns its exit code."""
    errors, arguments = Console(stderr=True), _arguments(argv)
    labels = read_labels(arguments.labels, feature_set=arguments.features)
    history = arguments.history and read_labels(arguments.history, feature_set=arguments.features)
    found = study(labels, history=history, split=arguments.split, mlp=arguments.mlp, seed=arguments.seed)
    Console().print(*map(as_text, shown(found)))
    if arguments.save:
        write_text(arguments.save, found.router.model_dump_json(indent=2) + "\n")
    saved = f"router: {arguments.save}" if arguments.save else "router: not kept; --save FILE keeps it"
    for line in (
        *(f"undefined: {one}" for one in found.undefined),
        saved,
        f"report: {write_oas_page(found)}",
    ):
        errors.print(line, markup=False, highlight=False, soft_wrap=True)
    return 0


def _arguments(argv: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("labels", type=Path, help="folder of a labelling job")
    parser.add_argument(
        "--history", type=Path, help="labels with retrieved candidates, for the transfer test"
    )
    parser.add_argument("--features", choices=("paper", "extended"), default="paper")
    parser.add_argument(
        "--split",
        type=int,
        nargs=3,
        default=PAPER_SPLIT,
        metavar=("FIT", "CALIBRATE", "TEST"),
        help="questions; scaled down in proportion when there are fewer (default: 350 75 75)",
    )
    parser.add_argument("--mlp", action="store_true", help="cross-fit the nonlinear control, too")
    parser.add_argument("--seed", type=int, default=2026)
    parser.add_argument("--save", type=Path, help="where to keep the router, for memsif run --router")
    return parser.parse_args(argv)


if __name__ == "__main__":
    sys.exit(main())
