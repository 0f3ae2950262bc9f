"""`memsif show`: what a finished run found, or the whole story of one of its questions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.output import AsJson, print_result
from memsif_ray.cli.run_folders import LATEST, find_run

if TYPE_CHECKING:
    from rich.console import Group

    from memsif_ray.cli.story import RunTables
    from memsif_ray.storage.runs import RunFolder


def show(
    run: Annotated[
        str, typer.Argument(help="Folder of a run, the beginning of its name, or latest.")
    ] = LATEST,
    question: Annotated[
        str | None, typer.Option("--question", "-q", help="Tell the whole story of this question.")
    ] = None,
    method: Annotated[
        str | None, typer.Option("--method", "-m", help="With --question: of this method only.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", help="Folder of all runs.")] = Path("runs"),
    as_json: AsJson = False,
) -> None:
    """Show a run's table and failures; with --question how one answer came about.

    The story names what was retrieved, who decided what, the evidence, the context, the answer, its verdict,
    every model call with its tokens, and what memory learned from the question.
    """
    from memsif_ray.cli.story import RunTables, tell
    from memsif_ray.cli.story_view import render_story

    folder = find_run(run, output)
    tables = RunTables(folder)
    if question is None:
        _show_summary(folder, tables, as_json=as_json)
        return
    story = tell(tables, question, method=method)
    print_result(story, render_story(story), as_json=as_json)


def _show_summary(folder: RunFolder, tables: RunTables, *, as_json: bool) -> None:
    from rich.console import Group
    from rich.text import Text

    from memsif_ray.cli.summary import show_summary, summary_of

    summary = summary_of(folder)
    failures = _failures(tables)
    lines = [f"{row['what']} {row['method']} {row['id']}: {row['reason']}" for row in failures]
    shown: Group = Group(
        Text(str(folder.path), style="dim"),
        show_summary(summary),
        *(Text(f" failed: {line}") for line in lines),
    )
    plain = {"folder": folder.path, "summary": summary.as_dict(), "failures": failures}
    print_result(plain, shown, as_json=as_json)


def _failures(tables: RunTables) -> list[dict[str, Any]]:
    """Units that are not done, then questions without an answer."""
    units = [
        {"what": row["stage"], "method": row["method"], "id": row["conversation_id"], "reason": row["reason"]}
        for row in tables.rows("units")
        if row["status"] != "done"
    ]
    answers = [
        {"what": "question", "method": row["method"], "id": row["question_id"], "reason": row["error"]}
        for row in tables.rows("answers")
        if row["answer"] is None
    ]
    return [*units, *answers]
