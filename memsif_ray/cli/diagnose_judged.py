"""The diagnoses that ask a chat model: validation of pairs, and delayed utility."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.diagnosing import (
    Conversations,
    Data,
    Output,
    Settings,
    config_of,
    exit_code,
    print_report,
)
from memsif_ray.cli.output import AsJson, note, stdout_kept_clean
from memsif_ray.cli.run import with_judge_endpoint
from memsif_ray.config import parse_settings
from memsif_ray.diagnostics.dispersion import Reading

if TYPE_CHECKING:
    from memsif_ray.runtime.tasks import JobResult


def _option(name: str, text: str) -> Any:
    return typer.Option(name, help=text, show_default=False)


Model = Annotated[str | None, _option("--model", "Chat model; embedded without --base-url.")]
BaseUrl = Annotated[str | None, _option("--base-url", "OpenAI-compatible endpoint.")]
JudgeModel = Annotated[
    str | None, _option("--judge-model", "Model that scores and judges; the chat model by default.")
]
JudgeUrl = Annotated[
    str | None, _option("--judge-base-url", "Endpoint of the judge; that of the chat model by default.")
]


def validate(
    data: Data = None,
    conversations: Conversations = None,
    embedder: Annotated[str | None, _option("--embedder", "Sentence embedder.")] = None,
    limit: Annotated[
        int | None, _option("--limit", "Pairs to judge of each bucket; all of its sample (100) by default.")
    ] = None,
    model: Model = None,
    base_url: BaseUrl = None,
    output: Output = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """Whether a judge sees the shifts and threads that `tsm` measures, as in the paper's Tables 6 and 7.

    Judges up to 600 sampled pairs, blind, by three votes each; measures first what is not measured yet.
    """
    config = config_of(
        data,
        conversations,
        output,
        {
            "diagnosis.pairs": limit,
            "embedder.model": embedder,
            "model.model": model,
            "model.base_url": base_url,
            **parse_settings(settings or []),
        },
    )
    with stdout_kept_clean():
        from analysis.diagnosis.pages import validation_report
        from memsif_ray.diagnostics.validation import rates
        from memsif_ray.runtime.diagnosis.validation import diagnose_validation

        found = diagnose_validation(config)
    report = validation_report(
        found.folder.path,
        found.tsm.source,
        found.judgements,
        judge=found.judge,
        embedder=found.tsm.embedder,
        selected=conversations is not None,
    )
    plain = {
        "folder": found.folder.path,
        "judge": found.judge,
        "embedder": found.tsm.embedder,
        "rates": [{**asdict(one), "rate": one.share.value} for one in rates(found.judgements)],
        "failures": [asdict(one) for one in found.last_job.failures],
        "report": report.page,
    }
    print_report(plain, report, as_json=as_json)
    _end(found.last_job)


def dum(
    data: Data = None,
    ids: Annotated[
        Reading, typer.Option("--ids", help="Which evidence ids count: strict or repaired.")
    ] = Reading.STRICT,
    limit: Annotated[
        int | None, _option("--limit", "Questions to look at, drawn over categories; all by default.")
    ] = None,
    conversations: Conversations = None,
    model: Model = None,
    base_url: BaseUrl = None,
    judge_model: JudgeModel = None,
    judge_base_url: JudgeUrl = None,
    output: Output = None,
    settings: Settings = None,
    as_json: AsJson = False,
) -> None:
    """How often evidence seems not worth keeping when it is said, and what compaction then loses.

    As in the paper's Tables 5 and 8 to 10 and its Figure 8. Writes the ids of the questions with evidence of
    low salience and high utility to a file for `memsif run --questions FILE`.
    """
    overrides = {
        "diagnosis.ids": ids.value,
        "diagnosis.questions": limit,
        "model.model": model,
        "model.base_url": base_url,
        "judge.model": judge_model,
        "judge.base_url": judge_base_url,
        **parse_settings(settings or []),
    }
    config = with_judge_endpoint(config_of(data, conversations, output, overrides))
    with stdout_kept_clean():
        from analysis.diagnosis.pages import dum_report
        from memsif_ray.diagnostics.dum import summary
        from memsif_ray.runtime.diagnosis.dum import diagnose_dum

        found = diagnose_dum(config)
    folder = found.scored.folder.path
    report = dum_report(
        folder, found.source, found.findings, about=found.about, selected=conversations is not None
    )
    plain = {"folder": folder, **found.about, **summary(found.findings)}
    plain |= {
        "questions_file": found.subset_file,
        "failures": [asdict(one) for one in found.last_job.failures],
        "report": report.page,
    }
    print_report(plain, report, as_json=as_json)
    note(f"ids of the LSHU subset: {found.subset_file}")
    _end(found.last_job)


def _end(job: JobResult) -> None:
    for line in job.report():
        note(line)
    raise typer.Exit(exit_code(job))
