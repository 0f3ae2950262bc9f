"""`memsif sweep`: the runs of one file that lists settings, one after another."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.cli.run import exit_code_of, plain_result, with_judge_endpoint
from memsif_ray.config import RunConfig, load_sweep, parse_settings

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memsif_ray.runtime.benchmark import RunResult


def sweep(
    config: Annotated[Path, typer.Argument(help="YAML file with `sweep`, e.g. jobs/conf/alpha.yaml.")],
    settings: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help="Any setting of all runs, e.g. data.path=/data/locomo10.json; repeatable.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Run a file once per setting that its `sweep` lists, and print every table.

    Each run has its own folder, as if `memsif run` had been told the setting; what is done is not done again.
    """
    results, plain, shown = [], [], []
    for point, one in load_sweep(config, parse_settings(settings or [])):
        label = ", ".join(f"{name}={value}" for name, value in point.items())
        note(f"sweep: {label}")
        result, as_plain, table = _ran(with_judge_endpoint(one), label)
        results.append(result)
        plain.append({"settings": point, **as_plain})
        shown.append(table)
        for line in result.report():
            note(line)
    print_result(plain, _together(shown), as_json=as_json)
    raise typer.Exit(max(exit_code_of(result) for result in results))


def _ran(config: RunConfig, label: str) -> tuple[RunResult, dict[str, Any], RenderableType]:
    from rich.console import Group
    from rich.text import Text

    from memsif_ray.cli.summary import show_summary, summary_of
    from memsif_ray.runtime.benchmark import run_benchmark

    with stdout_kept_clean():
        result = run_benchmark(config)
        summary = summary_of(result.folder)
    table = Group(Text(label, style="bold"), show_summary(summary))
    return result, plain_result(result, summary), table


def _together(tables: list[RenderableType]) -> RenderableType:
    from rich.console import Group

    return Group(*tables)
