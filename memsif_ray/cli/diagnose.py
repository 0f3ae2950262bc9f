"""`memsif diagnose`: the measurements behind MemSIF's claims, on any dataset file."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.failures import EPILOG, NO_SERVICE, SOME_FAILED
from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.config import RunConfig, load_run_config, parse_settings
from memsif_ray.diagnostics.dispersion import Reading

if TYPE_CHECKING:
    from rich.console import Group

    from analysis.page import Grid
    from memsif_ray.runtime.tasks import JobResult

app = typer.Typer(
    help="Measure what a dataset demands of a memory (MemSIF, Appendix A).", no_args_is_help=True
)

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


@app.command(epilog=EPILOG)
def nce(
    data: Data = None,
    ids: Annotated[
        Reading, typer.Option("--ids", help="Which evidence ids count: strict gives the paper's numbers.")
    ] = Reading.STRICT,
    conversations: Conversations = None,
    output: Output = None,
    as_json: AsJson = False,
) -> None:
    """How far apart the gold evidence of questions lies, and which questions are non-contiguous.

    Writes the ids of those questions to a file for `memsif run --questions FILE`. Needs no model.
    """
    from analysis.diagnosis import comparable, nce_grids
    from analysis.diagnosis_pages import write_nce_page
    from memsif_ray.runtime.diagnosis import diagnose_nce

    config = _config(data, conversations, output)
    found = diagnose_nce(config, ids)
    paper = comparable(found.source, selected=bool(config.data.conversations))
    grids = nce_grids(found.summary, found.changes, found.reading, paper)
    report = write_nce_page(found.folder.path, found.source, found.spreads, grids)
    plain = {
        "folder": found.folder.path,
        "ids": found.reading,
        "summary": asdict(found.summary),
        "changes": {change.question_id: change.effect for change in found.changes},
        "questions_file": found.subset,
        "report": report,
    }
    print_result(plain, _shown(grids), as_json=as_json)
    note(f"ids of the NCE subset: {found.subset}")
    note(f"report: {report}")


@app.command(epilog=EPILOG)
def stats(
    data: Data = None, conversations: Conversations = None, output: Output = None, as_json: AsJson = False
) -> None:
    """Sessions, tokens, days and questions, as in the paper's Table 12. Needs no model."""
    from analysis.diagnosis import comparable, corpus_grid
    from analysis.diagnosis_pages import write_corpus_page
    from memsif_ray.runtime.diagnosis import TOKENIZER, diagnose_corpus

    config = _config(data, conversations, output)
    note(f"counting tokens of {TOKENIZER}")
    found = diagnose_corpus(config)
    paper = comparable(found.source, selected=bool(config.data.conversations))
    grid = corpus_grid(found.summary, found.tokenizer, found.source, paper)
    report = write_corpus_page(found.folder.path, found.source, grid)
    plain = {
        "folder": found.folder.path,
        "tokenizer": found.tokenizer,
        "summary": asdict(found.summary),
        "report": report,
    }
    print_result(plain, _shown([grid]), as_json=as_json)
    note(f"report: {report}")


@app.command(epilog=EPILOG)
def tsm(
    data: Data = None,
    conversations: Conversations = None,
    embedder: Annotated[
        str | None, typer.Option("--embedder", help="Sentence embedder.", show_default=False)
    ] = None,
    output: Output = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """How often neighbouring segments change their topic, and how far away related ones are.

    Needs an embedder, but no chat model. What is already embedded is never embedded again.
    """
    config = _config(
        data, conversations, output, {"embedder.model": embedder, **parse_settings(settings or [])}
    )
    with stdout_kept_clean():
        from analysis.diagnosis import comparable, tsm_grids
        from analysis.diagnosis_pages import write_tsm_page
        from memsif_ray.runtime.diagnosis_tsm import diagnose_tsm, pair_samples

        found = diagnose_tsm(config)
        paper = comparable(found.source, selected=bool(config.data.conversations))
        grids = tsm_grids(found.averages, found.divisions, found.embedder, paper)
        folder = found.job.folder
        report = write_tsm_page(
            folder.path,
            found.source,
            found.measures,
            found.averages,
            grids,
            embedder=found.embedder,
            paper=paper,
        )
    plain = {
        "folder": folder.path,
        "embedder": found.embedder,
        "averages": [asdict(one) for one in found.averages],
        "pairs": [asdict(one) for one in found.divisions],
        "pair_samples": pair_samples(folder).file("pair_samples"),
        "failures": [asdict(one) for one in found.job.failures],
        "report": report,
    }
    print_result(plain, _shown(grids), as_json=as_json)
    for line in (*found.job.report(), f"report: {report}"):
        note(line)
    raise typer.Exit(exit_code(found.job))


def _config(
    data: Path | None, conversations: str | None, output: Path | None, more: dict[str, Any] | None = None
) -> RunConfig:
    overrides: dict[str, Any] = {"execution.output": output, **(more or {})}
    if data is not None:
        from memsif_ray import datasets

        overrides |= {"data.path": data, "data.dataset": datasets.check(data).dataset}
    if conversations is not None:
        overrides["data.conversations"] = tuple(part.strip() for part in conversations.split(","))
    return load_run_config(None, {key: value for key, value in overrides.items() if value is not None})


def _shown(grids: list[Grid]) -> Group:
    from rich.console import Group

    from analysis.diagnosis_pages import as_text

    return Group(*map(as_text, grids))


def exit_code(job: JobResult) -> int:
    """0 when nothing is missing, 3 when the service answered nobody, 1 when only some are missing."""
    gone = job.failures and all("ServiceBusy" in record.reason for record in job.records)
    return NO_SERVICE if gone else SOME_FAILED if job.failures else 0
