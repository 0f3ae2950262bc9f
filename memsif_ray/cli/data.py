"""`memsif data`: look at dataset files."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.failures import EPILOG
from memsif_ray.cli.output import AsJson, print_result

if TYPE_CHECKING:
    from rich.console import Group

    from memsif_ray.datasets import LoadReport

app = typer.Typer(help="Look at dataset files.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `check` a subcommand of its own name."""


@app.command(epilog=EPILOG)
def check(
    file: Annotated[Path, typer.Argument(help="LoCoMo or LongMemEval: a JSON file or a folder of them.")],
    as_json: AsJson = False,
) -> None:
    """Say which dataset a file is, what is in it, and what had to be repaired.

    Its SHA-256 is compared with those of the published releases.
    """
    from memsif_ray import datasets

    report = datasets.check(file)
    print_result(_plain(report), _shown(report), as_json=as_json)


def _plain(report: LoadReport) -> dict[str, Any]:
    plain = asdict(report)
    plain["categories"] = {category.value: n for category, n in report.categories.items()}
    return plain


def _shown(report: LoadReport) -> Group:
    from rich.box import SIMPLE_HEAD
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    table = Table(box=SIMPLE_HEAD, pad_edge=False)
    table.add_column("what")
    table.add_column("number", justify="right")
    for name, number in report.counts.items():
        table.add_row(name.replace("_", " "), f"{number:,}")
    for category, number in report.categories.items():
        table.add_row(f"questions: {category.value}", f"{number:,}")
    kinds = Counter(repair.kind for repair in report.repairs)
    for kind, number in sorted(kinds.items()):
        table.add_row(f"evidence: {kind.replace('_', ' ')}", f"{number:,}")
    release = report.release or "no published release: another version, or changed since"
    return Group(
        Text(f"{report.source}: {report.dataset}", style="bold"),
        Text(f"SHA-256 {report.sha256}\n{release}"),
        table,
    )
