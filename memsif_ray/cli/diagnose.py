"""`memsif diagnose`: the measurements behind MemSIF's claims, on any dataset file."""

from __future__ import annotations

from dataclasses import asdict
from typing import Annotated

import typer

from memsif_ray.cli.diagnose_judged import dum, validate
from memsif_ray.cli.diagnosing import (
    Conversations,
    Data,
    Output,
    Settings,
    config_of,
    exit_code,
    print_report,
)
from memsif_ray.cli.failures import EPILOG
from memsif_ray.cli.output import AsJson, note, stdout_kept_clean
from memsif_ray.config import parse_settings
from memsif_ray.diagnostics.dispersion import Reading

app = typer.Typer(
    help="Measure what a dataset demands of a memory (MemSIF, Appendix A).", no_args_is_help=True
)


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
    from analysis.diagnosis.pages import nce_report
    from memsif_ray.runtime.diagnosis.model_free import diagnose_nce

    found = diagnose_nce(config_of(data, conversations, output), ids)
    report = nce_report(
        found.folder.path,
        found.source,
        found.spreads,
        found.summary,
        found.changes,
        reading=found.reading,
        selected=conversations is not None,
    )
    plain = {
        "folder": found.folder.path,
        "ids": found.reading,
        "summary": asdict(found.summary),
        "changes": {change.question_id: change.effect for change in found.changes},
        "questions_file": found.subset,
        "report": report.page,
    }
    print_report(plain, report, as_json=as_json)
    note(f"ids of the NCE subset: {found.subset}")


@app.command(epilog=EPILOG)
def stats(
    data: Data = None, conversations: Conversations = None, output: Output = None, as_json: AsJson = False
) -> None:
    """Sessions, tokens, days and questions, as in the paper's Table 12. Needs no model."""
    from analysis.diagnosis.pages import corpus_report
    from memsif_ray.runtime.diagnosis.model_free import TOKENIZER, diagnose_corpus

    note(f"counting tokens of {TOKENIZER}")
    found = diagnose_corpus(config_of(data, conversations, output))
    report = corpus_report(
        found.folder.path,
        found.source,
        found.summary,
        tokenizer=found.tokenizer,
        selected=conversations is not None,
    )
    plain = {
        "folder": found.folder.path,
        "tokenizer": found.tokenizer,
        "summary": asdict(found.summary),
        "report": report.page,
    }
    print_report(plain, report, as_json=as_json)


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
    config = config_of(
        data, conversations, output, {"embedder.model": embedder, **parse_settings(settings or [])}
    )
    with stdout_kept_clean():
        from analysis.diagnosis.pages import tsm_report
        from memsif_ray.runtime.diagnosis.tsm import diagnose_tsm, pair_samples

        found = diagnose_tsm(config)
    folder = found.job.folder
    report = tsm_report(
        folder.path,
        found.source,
        found.measures,
        found.averages,
        found.divisions,
        embedder=found.embedder,
        selected=conversations is not None,
    )
    plain = {
        "folder": folder.path,
        "embedder": found.embedder,
        "averages": [asdict(one) for one in found.averages],
        "pairs": [asdict(one) for one in found.divisions],
        "pair_samples": pair_samples(folder).file("pair_samples"),
        "failures": [asdict(one) for one in found.job.failures],
        "report": report.page,
    }
    print_report(plain, report, as_json=as_json)
    for line in found.job.report():
        note(line)
    raise typer.Exit(exit_code(found.job))


for command in (validate, dum):
    app.command(epilog=EPILOG)(command)
