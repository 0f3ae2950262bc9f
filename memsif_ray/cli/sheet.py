"""`memsif sheet`: have people check the judge."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.failures import EPILOG
from memsif_ray.cli.output import AsJson, print_result
from memsif_ray.cli.run_folders import find_run
from memsif_ray.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.console import Group
    from rich.table import Table

    from analysis.agreement import Measured
    from analysis.sheet import Drawn
    from analysis.validation import Labels, Validation

app = typer.Typer(help="Have people label answers, and compare them with the judge.", no_args_is_help=True)

_Runs = Annotated[list[str], typer.Argument(help="Folders of runs, beginnings of their names, or latest.")]
_Output = Annotated[Path, typer.Option("--output", help="Folder of all runs.")]


def _option(name: str, text: str) -> Any:
    return typer.Option(name, help=text, show_default=False)


@app.command(name="export", epilog=EPILOG)
def export(
    runs: _Runs,
    sheet: Annotated[Path, typer.Argument(help="The CSV file to write; its key goes beside it.")],
    per_cell: Annotated[int, typer.Option("--per-cell", min=1, help="Answers per system and dataset.")] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Of the draw.")] = 2026,
    output: _Output = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Draw answers for people to label, without the systems' names.

    Give each annotator a copy, and keep the key (.key.json) from both. Labels are `correct` or `wrong`.
    """
    from analysis.sheet import draw, key_file, write_sheet

    drawn = draw([find_run(run, output).path for run in runs], per_cell=per_cell, seed=seed)
    write_sheet(sheet, drawn)
    cells = len({(one.dataset, one.system) for one in drawn.drawn})
    plain = {"sheet": sheet, "key": key_file(sheet), "answers": len(drawn.drawn), "cells": cells}
    text = (
        f"{len(drawn.drawn)} answers of {cells} systems and datasets: {sheet}; keep {key_file(sheet)} secret"
    )
    print_result(plain, text, as_json=as_json)


@app.command(name="import", epilog=EPILOG)
def import_labels(
    runs: _Runs,
    first: Annotated[Path, typer.Argument(help="The sheet that one annotator labelled.")],
    second: Annotated[Path, typer.Argument(help="The sheet that the other labelled.")],
    adjudicated: Annotated[
        Path | None, _option("--adjudicated", "A sheet with labels of answers on which the two differ.")
    ] = None,
    key: Annotated[
        Path | None, _option("--key", "The sheet's key; beside the first sheet by default.")
    ] = None,
    profile: Annotated[
        str | None, _option("--profile", "Name of the grading to check; the run's own by default.")
    ] = None,
    output: _Output = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Report how far two annotators agree with each other, and the judge with them (MemSIF, Table 14)."""
    from analysis.sheet import key_file, read_key, read_labels
    from analysis.validation import validate

    drawn = read_key(key or key_file(first))
    found = validate(
        drawn,
        read_labels(first),
        read_labels(second),
        judge=_verdicts(drawn, [find_run(run, output).path for run in runs], profile),
        adjudicated=read_labels(adjudicated) if adjudicated else {},
    )
    print_result(found.as_dict(), _shown(found), as_json=as_json)


def _verdicts(drawn: Sequence[Drawn], runs: Sequence[Path], profile: str | None) -> Labels:
    """The judge's labels by answer id.

    Raises:
        ConfigError: When the sheet has answers of a run that was not named.
    """
    import polars as pl

    from analysis.verdicts import own_profile, scan_verdicts

    missing = {one.folder for one in drawn} - {run.name for run in runs}
    if missing:
        raise ConfigError(f"the sheet has answers of {', '.join(sorted(missing))} too: name every run")
    said: dict[tuple[str, str, int, str], bool | None] = {}
    for run in runs:
        rows = scan_verdicts(run).filter(pl.col("profile") == (profile or own_profile(run))).collect()
        for row in rows.iter_rows(named=True):
            place = (run.name, row["method"], row["run"], row["question_id"])
            said[place] = {"right": True, "wrong": False}.get(row["outcome"])
    return {one.answer_id: said.get((one.folder, one.method, one.run, one.question_id)) for one in drawn}


def _shown(found: Validation) -> Group:
    from rich.console import Group
    from rich.text import Text

    from memsif_ray.cli.judge_view import kappa_cell, numbers_table, percent

    overall = found.overall
    table = numbers_table("dataset", "answers", "H–H agree", "H–H κ", "J–H agree", "J–H κ")
    for humans, judge in zip(found.humans, found.judge, strict=True):
        table.add_row(
            humans.kind,
            str(humans.answers),
            percent(humans.agreement),
            kappa_cell(humans.kappa),
            percent(judge.agreement),
            kappa_cell(judge.kappa),
        )
    points = [overall["human_kappa"], overall["judge_kappa"]]
    human_kappa, judge_kappa = ("–" if point is None else f"{point:.2f}" for point in points)
    table.add_row(
        "overall",
        str(sum(row.answers for row in found.humans)),
        *(percent(overall["human_agreement"]), human_kappa, percent(overall["judge_agreement"]), judge_kappa),
    )
    return Group(table, _methods(found.by_method), *(Text(f" {line}") for line in _remarks(found)))


def _methods(rows: Sequence[Measured]) -> Table:
    from memsif_ray.cli.judge_view import interval, kappa_cell, numbers_table, percent

    table = numbers_table("system", "answers", "J–H agree [95 %]", "J–H κ [95 %]")
    for row in rows:
        share = f"{percent(row.agreement)} {interval(row.agreement_95)}"
        table.add_row(row.kind, str(row.answers), share, kappa_cell(row.kappa))
    return table


def _remarks(found: Validation) -> list[str]:
    counts = {
        "differ and nobody adjudicated": found.undecided,
        "left blank by an annotator": found.unlabelled,
        "without a verdict of the judge": found.unjudged,
    }
    return [
        f"The judge alone accepts {found.judge_only} answers, people alone {found.humans_only}.",
        "H–H: between annotators; J–H: judge against their settled label. Overall: datasets weigh the same.",
        *(f"{len(names)} {what}: {', '.join(names)}" for what, names in counts.items() if names),
    ]
