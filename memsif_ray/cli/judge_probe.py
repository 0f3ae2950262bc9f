"""`memsif judge probe`: how far a grader can be trusted, measured on answers of known worth."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.failures import SOME_FAILED
from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.config import load_run_config, parse_settings
from memsif_ray.errors import ConfigError
from memsif_ray.evaluation.graders import GRADERS, THRESHOLD

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from rich.console import Group

    from analysis.agreement import Measured
    from memsif_ray.datasets.judge_probe import ProbeAnswer

    Accepted = Mapping[tuple[str, str], bool | None]


def _option(name: str, text: str) -> Any:
    return typer.Option(name, help=text, show_default=False)


def probe(
    data: Annotated[Path, _option("--data", "Answers with votes of a hosted judge, one JSON object a line.")],
    grader: Annotated[str | None, _option("--grader", "f1 or rules: a grader that needs no model.")] = None,
    profile: Annotated[
        str | None, _option("--profile", "Judge: memsif (default), longmemeval, lenient or strict-exact.")
    ] = None,
    limit: Annotated[int | None, _option("--limit", "At most this many answers of each kind.")] = None,
    threshold: Annotated[
        float, typer.Option("--threshold", min=0, max=1, help="Token-F1 from which --grader accepts.")
    ] = THRESHOLD,
    votes: Annotated[int | None, _option("--votes", "Times the judge judges each answer.")] = None,
    judge_model: Annotated[
        str | None, _option("--judge-model", "Model that judges; embedded without --judge-base-url.")
    ] = None,
    judge_base_url: Annotated[
        str | None, _option("--judge-base-url", "Its OpenAI-compatible endpoint.")
    ] = None,
    output: Annotated[Path | None, _option("--output", "Folder of all runs (default: runs).")] = None,
    settings: Annotated[list[str] | None, _option("--set", "Any setting of a run; repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Measure a grader: what it accepts of answers that are wrong on purpose, and its agreement with a judge.

    The votes in the file are those of one hosted judge with the lenient prompt that is customary for LoCoMo:
    agreement with it is no merit in itself, false accepts are mistakes whoever makes them.
    """
    from memsif_ray.datasets.judge_probe import read_probe

    answers = read_probe(data, limit=limit)
    if grader is not None and profile is not None:
        raise ConfigError("give --grader or --profile, not both")
    if grader is not None:
        title, accepted, missing = _by_grader(grader, answers, threshold)
    else:
        given = {
            "judging.profile": profile,
            "judging.votes": votes,
            "model.model": judge_model,
            "model.base_url": judge_base_url,
            "execution.output": output,
            **parse_settings(settings or []),
        }
        title, accepted, missing = _by_judge(
            {key: value for key, value in given.items() if value is not None}, answers
        )
    rows = _measured(answers, accepted)
    print_result(
        {"grader": title, "kinds": [_plain(row) for row in rows]}, _tables(title, rows), as_json=as_json
    )
    for line in missing:
        note(line)
    raise typer.Exit(SOME_FAILED if missing else 0)


def _by_grader(
    name: str, answers: Sequence[ProbeAnswer], threshold: float
) -> tuple[str, Accepted, list[str]]:
    if name not in GRADERS:
        raise ConfigError(f"no grader {name!r}; there is {', '.join(GRADERS)}")
    accepted = {
        (one.kind, one.gold.question_id): GRADERS[name](
            one.answer, one.gold, one.question.category, threshold=threshold
        )
        for one in answers
    }
    return f"{name}, accepting from F1 {threshold:g}", accepted, []


def _by_judge(given: dict[str, Any], answers: Sequence[ProbeAnswer]) -> tuple[str, Accepted, list[str]]:
    from memsif_ray.runtime.judge_probing import probe_judge

    config = load_run_config(None, {"entities": "rules", **given})
    with stdout_kept_clean():
        done = probe_judge(answers, config=config)
    scored = {"right": True, "wrong": False}
    accepted = {
        (row["method"], row["question_id"]): scored.get(row["outcome"])
        for row in done.folder.tables.read("verdicts").to_pylist()
    }
    title = f"profile {config.judging.label}, judge {config.model.model}"
    return title, accepted, done.report() if done.failures else []


def _measured(answers: Sequence[ProbeAnswer], accepted: Accepted) -> list[Measured]:
    from analysis.agreement import Compared, measure
    from memsif_ray.evaluation.agreement import accepted_by_most

    return measure(
        [
            Compared(
                one.kind,
                one.question.conversation_id,
                accepted.get((one.kind, one.gold.question_id)),
                accepted_by_most(one.votes),
            )
            for one in answers
        ]
    )


def _plain(row: Measured) -> dict[str, Any]:
    from memsif_ray.datasets.judge_probe import WRONG_ON_PURPOSE

    return {**asdict(row), "false_accepts": row.accepted if row.kind in WRONG_ON_PURPOSE else None}


def _tables(title: str, rows: Sequence[Measured]) -> Group:
    """Two tables, each narrow enough for a terminal of 80 columns."""
    from rich.console import Group
    from rich.padding import Padding
    from rich.text import Text

    from memsif_ray.cli.judge_view import interval, kappa_cell, numbers_table, percent
    from memsif_ray.datasets.judge_probe import WRONG_ON_PURPOSE

    names = [f"{row.kind} *" if row.kind in WRONG_ON_PURPOSE else row.kind for row in rows]
    accepts = numbers_table("answers", "n", "graded", "accepts [95 %]", "hosted")
    agrees = numbers_table("answers", "agree [95 %]", "κ [95 %]")
    for name, row in zip(names, rows, strict=True):
        share = f"{percent(row.accepted)} {interval(row.accepted_95)}"
        accepts.add_row(name, str(row.answers), str(row.graded), share, percent(row.theirs))
        share = f"{percent(row.agreement)} {interval(row.agreement_95)}"
        agrees.add_row(name, share, kappa_cell(row.kappa))
    return Group(
        Text(f" {title}", style="bold"), accepts, agrees, Padding(Text(_CAPTION, style="dim"), (0, 1))
    )


_CAPTION = (
    "* wrong on purpose: what is accepted there is the false-accept rate. hosted: share that most of the "
    "file's votes accept; agree and κ: with them. Intervals: a bootstrap of whole conversations. Answers "
    "without a verdict are in no rate."
)
