"""What the commands of `memsif diagnose` share: options, configuration, output and exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.failures import NO_SERVICE, SOME_FAILED
from memsif_ray.cli.output import note, print_result
from memsif_ray.config import RunConfig, load_run_config

if TYPE_CHECKING:
    from analysis.diagnosis.pages import Report
    from memsif_ray.runtime.tasks import JobResult

Data = Annotated[
    Path | None, typer.Option("--data", help="The dataset's file; the sample without.", show_default=False)
]
Conversations = Annotated[
    str | None, typer.Option("--conversations", help="Ids to keep, with commas.", show_default=False)
]
Output = Annotated[
    Path | None, typer.Option("--output", help="Folder of all runs (default: runs).", show_default=False)
]
Settings = Annotated[
    list[str] | None, typer.Option("--set", help="Any setting of a run; repeatable.", show_default=False)
]


def config_of(
    data: Path | None, conversations: str | None, output: Path | None, more: dict[str, Any] | None = None
) -> RunConfig:
    """The configuration that the options ask for.

    Args:
        data: Its dataset is recognised.
        conversations: Ids, with commas.
        output: Folder of all runs.
        more: Other settings by dotted name; None leaves one as it is.

    Raises:
        ConfigError: When a setting is wrong, or there is nothing to read.
        DataError: When the data is neither benchmark's.
    """
    overrides: dict[str, Any] = {"execution.output": output, **(more or {})}
    if data is not None:
        from memsif_ray import datasets

        overrides |= {"data.path": data, "data.dataset": datasets.check(data).dataset}
    if conversations is not None:
        overrides["data.conversations"] = tuple(part.strip() for part in conversations.split(","))
    return load_run_config(None, {key: value for key, value in overrides.items() if value is not None})


def print_report(plain: Any, report: Report, *, as_json: bool) -> None:
    """Print the tables, or the result as JSON, and say where the page is."""
    from rich.console import Group

    from analysis.diagnosis.pages import as_text

    print_result(plain, Group(*map(as_text, report.grids)), as_json=as_json)
    note(f"report: {report.page}")


def exit_code(job: JobResult) -> int:
    """0 when nothing is missing, 3 when the service answered nobody, 1 when only some are missing."""
    gone = job.failures and all("ServiceBusy" in record.reason for record in job.records)
    return NO_SERVICE if gone else SOME_FAILED if job.failures else 0
