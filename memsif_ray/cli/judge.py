"""`memsif judge`: grade saved answers again, and measure graders."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.default_command import RunByDefault
from memsif_ray.cli.failures import EPILOG, SOME_FAILED
from memsif_ray.cli.judge_probe import probe
from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.cli.run_folders import LATEST, find_run
from memsif_ray.config import ModelConfig, RunConfig, load_run_config
from memsif_ray.errors import ConfigError

if TYPE_CHECKING:
    from memsif_ray.datasets.audit import Audit
    from memsif_ray.runtime.regrading import Grading
    from memsif_ray.storage.runs import RunFolder

app = typer.Typer(
    help="Grade the saved answers of a run again (memsif judge RUN …), or measure a grader (probe).",
    cls=RunByDefault,
    no_args_is_help=True,
)
app.command(name="probe", epilog=EPILOG)(probe)


def _option(name: str, text: str) -> Any:
    return typer.Option(name, help=text, show_default=False)


@app.command(name="run", epilog=EPILOG)
def judge(
    run: Annotated[
        str, typer.Argument(help="Folder of a run, the beginning of its name, or latest.")
    ] = LATEST,
    profile: Annotated[
        list[str] | None,
        _option(
            "--profile", "memsif, longmemeval, lenient or strict-exact; repeatable. The run's own by default."
        ),
    ] = None,
    votes: Annotated[
        int | None, _option("--votes", "Times each answer is judged, e.g. 3; more than half decide.")
    ] = None,
    judge_model: Annotated[
        str | None, _option("--judge-model", "Model that grades; the run's judge by default.")
    ] = None,
    judge_base_url: Annotated[
        str | None, _option("--judge-base-url", "Its OpenAI-compatible endpoint.")
    ] = None,
    gold: Annotated[
        str,
        typer.Option("--gold", help="released, or audited: also against the answers that --audit corrects."),
    ] = "released",
    audit: Annotated[
        Path | None, _option("--audit", "File with corrections of LoCoMo's answers, for --gold audited.")
    ] = None,
    output: Annotated[Path, typer.Option("--output", help="Folder of all runs.")] = Path("runs"),
    shards: Annotated[int | None, _option("--shards", "Processes that grade.")] = None,
    as_json: AsJson = False,
) -> None:
    """Grade the saved answers of a run again, under other profiles, judges or references.

    No question is asked again. Verdicts are kept beside the run's own, under the name of the profile, with
    +3-votes, the judge's name where it is another than the run's, and @audited added.
    """
    folder = find_run(run, output)
    config = load_run_config(folder.path / "config.yaml", {"execution.shards": shards} if shards else {})
    corrections = _audit(gold, audit)
    model = _judge(config, judge_model, judge_base_url)
    gradings = [
        one
        for name in profile or [config.judging.profile]
        for one in _gradings(config, name, votes, model=model, audit=corrections)
    ]
    missing = _graded(folder, gradings, config)
    _show(folder, corrections, as_json=as_json)
    for line in missing:
        note(line)
    raise typer.Exit(SOME_FAILED if missing else 0)


def _audit(gold: str, path: Path | None) -> Audit | None:
    if gold not in ("released", "audited"):
        raise ConfigError(f"--gold is released or audited, not {gold!r}")
    if (gold == "audited") != (path is not None):
        raise ConfigError("--gold audited and --audit FILE belong together")
    if path is None:
        return None
    from memsif_ray.datasets.audit import read_audit

    return read_audit(path)


def _judge(config: RunConfig, model: str | None, base_url: str | None) -> ModelConfig:
    changes = {"model": model, "base_url": base_url}
    given = {name: value for name, value in changes.items() if value is not None}
    return (config.judge or config.model).model_copy(update=given)


def _gradings(
    config: RunConfig, profile: str, votes: int | None, *, model: ModelConfig, audit: Audit | None
) -> list[Grading]:
    """Against the released references, then against the audited ones."""
    from memsif_ray.runtime.regrading import Grading

    judging = load_run_config(
        None, {"judging.profile": profile, "judging.votes": votes or config.judging.votes}
    ).judging
    own = config.judge or config.model
    released = Grading(judging, model, apart=model.model != own.model)
    return [released] if audit is None else [released, released.against(audit)]


def _graded(folder: RunFolder, gradings: list[Grading], config: RunConfig) -> list[str]:
    """Do all of them; says what is missing."""
    from memsif_ray.runtime.regrading import outdated, regrade

    missing = []
    with stdout_kept_clean():
        for grading in gradings:
            if grading.audit is None and outdated(folder, grading):
                note(f"{grading.label}: the run was graded with other prompts than today's; graded anew")
            done = regrade(folder, grading, config=config)
            if done is None:
                note(f"{grading.label}: the run's own verdicts")
            elif done.failures:
                missing += [f"{grading.label}: {line}" for line in done.report()]
    return missing


def _show(folder: RunFolder, audit: Audit | None, *, as_json: bool) -> None:
    from rich.console import Group

    from memsif_ray.cli.judge_view import ceilings_text, profiles_view, scores_by_profile
    from memsif_ray.runtime.regrading import ceiling

    rows = scores_by_profile(folder)
    limits = ceiling(folder, audit) if audit else None
    plain = {
        "folder": folder.path,
        "scores": rows,
        "ceilings": limits and {"released": limits.released, "audited": 1.0, **limits._asdict()},
    }
    shown = Group(profiles_view(rows), *([ceilings_text(limits)] if limits else []))
    print_result(plain, shown, as_json=as_json)
