"""The command tree."""

from __future__ import annotations

import logging
from typing import Annotated

import typer

from memsif_ray import __version__
from memsif_ray.cli.bench import app as bench_app
from memsif_ray.cli.calibrate import calibrate
from memsif_ray.cli.data import app as data_app
from memsif_ray.cli.diagnose import app as diagnose_app
from memsif_ray.cli.doctor import doctor
from memsif_ray.cli.failures import EPILOG, CommandGroup
from memsif_ray.cli.judge import app as judge_app
from memsif_ray.cli.keys import app as keys_app
from memsif_ray.cli.keys import tenants
from memsif_ray.cli.mcp import mcp
from memsif_ray.cli.memory import ask, export, import_, ingest, search
from memsif_ray.cli.methods import methods
from memsif_ray.cli.oas import app as oas_app
from memsif_ray.cli.output import print_result
from memsif_ray.cli.reembed import reembed
from memsif_ray.cli.report import report
from memsif_ray.cli.run import run
from memsif_ray.cli.serve import serve
from memsif_ray.cli.sheet import app as sheet_app
from memsif_ray.cli.show import show
from memsif_ray.cli.sweep import sweep

app = typer.Typer(
    name="memsif",
    cls=CommandGroup,
    help="Long-term memory for LLM agents: MemSIF and its rivals, measured on Ray.",
    epilog=EPILOG,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
for command in (run, sweep, show, report, methods, doctor, serve, reembed, tenants, mcp, calibrate):
    app.command(epilog=EPILOG)(command)
for verb in (ingest, search, ask, export):
    app.command(epilog=EPILOG)(verb)
app.command("import", epilog=EPILOG)(import_)
app.add_typer(data_app, name="data")
app.add_typer(keys_app, name="keys")
app.add_typer(bench_app, name="bench")
app.add_typer(judge_app, name="judge")
app.add_typer(sheet_app, name="sheet")
app.add_typer(diagnose_app, name="diagnose")
app.add_typer(oas_app, name="oas")


@app.callback()
def _everywhere(
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks of expected errors, and more of the log.")
    ] = False,
) -> None:
    level = logging.INFO if debug else logging.WARNING
    handler = logging.StreamHandler()
    handler.setLevel(level)  # some libraries set their own loggers to DEBUG
    logging.basicConfig(level=level, handlers=[handler], format="%(levelname)s %(message)s")


@app.command()
def version(as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False) -> None:
    """Print the version."""
    print_result({"version": __version__}, __version__, as_json=as_json)


def main() -> None:
    """Run the command line of this process, and exit."""
    app()
