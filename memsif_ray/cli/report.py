"""`memsif report`: one page on one or several finished runs, with its tables and figures as files."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memsif_ray.cli.output import AsJson, print_result
from memsif_ray.cli.run_folders import LATEST, find_run
from memsif_ray.config import fingerprint
from memsif_ray.errors import ConfigError

if TYPE_CHECKING:
    from memsif_ray.storage.runs import RunFolder


def report(
    runs: Annotated[
        list[str] | None,
        typer.Argument(help="Folders of runs, beginnings of their names, or latest (default)."),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            show_default=False,
            help="Folder of the report; default: report/ in the run, for several runs reports/ beside them.",
        ),
    ] = None,
    reference: Annotated[
        str, typer.Option("--reference", help="Method that the others are compared with.")
    ] = "memsif",
    profile: Annotated[
        str | None,
        typer.Option(
            "--profile",
            show_default=False,
            help="Judge profile whose verdicts are the accuracy; by default the first run's own.",
        ),
    ] = None,
    failures: Annotated[
        int, typer.Option("--failures", min=0, help="At most this many failures per run and method.")
    ] = 10,
    root: Annotated[Path, typer.Option("--runs", help="Folder of all runs.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Write report.html: tables, figures, failures and provenance, in one file that needs no network.

    Several runs are compared side by side, and what sets them apart names them. Tables lie beside it as CSV
    and LaTeX, figures as SVG.
    """
    from analysis.report.writing import write_report

    found = [find_run(name, root) for name in runs or [LATEST]]
    _check_distinct(found)
    page = write_report(
        [folder.path for folder in found],
        output or _place(found),
        reference=reference,
        profile=profile,
        failures_shown=failures,
    )
    written = sorted(str(path) for kind in ("tables", "figures") for path in page.parent.glob(f"{kind}/*"))
    plain = {"report": page, "runs": [folder.path for folder in found], "files": written}
    print_result(plain, str(page), as_json=as_json)


def _check_distinct(found: Sequence[RunFolder]) -> None:
    paths = [folder.path for folder in found]
    twice = sorted({path.name for path in paths if paths.count(path) > 1})
    if twice:
        raise ConfigError(f"a run is named twice: {', '.join(twice)}")


def _place(found: Sequence[RunFolder]) -> Path:
    first = found[0].path
    if len(found) == 1:
        return first / "report"
    return first.parent / "reports" / fingerprint(sorted(folder.path.name for folder in found))
