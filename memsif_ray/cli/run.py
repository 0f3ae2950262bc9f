"""`memsif run`: one benchmark run, from options and a file to a table."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.failures import NO_SERVICE, SOME_FAILED
from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.config import RunConfig, load_run_config, parse_settings
from memsif_ray.errors import ConfigError

if TYPE_CHECKING:
    from analysis.tables import Summary
    from memsif_ray.runtime.benchmark import RunResult

_DATA, _MODELS, _HOW = "Data", "Methods and models", "Execution"


def _option(name: str, panel: str, text: str, **more: Any) -> Any:
    return typer.Option(*name.split(), rich_help_panel=panel, help=text, show_default=False, **more)


def run(
    config: Annotated[
        Path | None, typer.Argument(help="YAML file with settings; options override it.", show_default=False)
    ] = None,
    dataset: Annotated[
        str | None, _option("--dataset", _DATA, "sample (default), locomo or longmemeval.")
    ] = None,
    data: Annotated[Path | None, _option("--data", _DATA, "The dataset's file.")] = None,
    conversations: Annotated[
        str | None, _option("--conversations", _DATA, "Ids to keep, with commas; all by default.")
    ] = None,
    questions: Annotated[
        str | None, _option("--questions", _DATA, "Ids to keep, with commas, or a file with one id a line.")
    ] = None,
    limit: Annotated[
        int | None,
        _option("--limit --limit-questions", _DATA, "At most this many questions per conversation."),
    ] = None,
    adversarial: Annotated[
        bool | None,
        _option("--adversarial/--no-adversarial", _DATA, "Ask unanswerable questions, too (default)."),
    ] = None,
    methods: Annotated[
        str | None,
        _option(
            "--methods",
            _MODELS,
            "With commas: memsif,naive-rag,full-context (default), any other that `memsif methods` lists, "
            "or all, baselines, ablations, controls.",
        ),
    ] = None,
    model: Annotated[
        str | None, _option("--model", _MODELS, "Chat model; embedded without --base-url.")
    ] = None,
    base_url: Annotated[str | None, _option("--base-url", _MODELS, "OpenAI-compatible endpoint.")] = None,
    judge_model: Annotated[
        str | None, _option("--judge-model", _MODELS, "Model that grades; the chat model by default.")
    ] = None,
    judge_base_url: Annotated[
        str | None,
        _option("--judge-base-url", _MODELS, "Endpoint of the judge; that of the chat model by default."),
    ] = None,
    embedder: Annotated[str | None, _option("--embedder", _MODELS, "Sentence embedder.")] = None,
    grade: Annotated[
        bool | None,
        _option("--grade/--no-grade", _MODELS, "Let a model grade answers (default); F1 needs none."),
    ] = None,
    budget: Annotated[
        int | None,
        _option("--budget", _MODELS, "Most tokens of a context, for every method; no cap by default."),
    ] = None,
    policy: Annotated[
        str | None,
        _option(
            "--policy",
            _MODELS,
            "How to keep it: retain (default), merge, abstract, rewrite, router, router-safe.",
        ),
    ] = None,
    router: Annotated[Path | None, _option("--router", _MODELS, "A trained router's file.")] = None,
    runs: Annotated[int | None, _option("--runs", _HOW, "Independent runs; scores are their mean.")] = None,
    output: Annotated[Path | None, _option("--output", _HOW, "Folder of all runs (default: runs).")] = None,
    shards: Annotated[int | None, _option("--shards", _HOW, "Processes that ask questions.")] = None,
    settings: Annotated[
        list[str] | None,
        _option("--set", _HOW, "Any other setting, e.g. memory.segments.tau_split=0.3; repeatable."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Build memories, ask every question, grade the answers, and print the table.

    What is already done is never done again: a finished run returns at once, an interrupted one goes on.
    """
    overrides = {
        "data.dataset": dataset,
        "data.path": data,
        "data.conversations": _listed(conversations),
        "data.questions": _question_ids(questions),
        "data.limit": limit,
        "data.adversarial": adversarial,
        "methods": _listed(methods),
        "model.model": model,
        "model.base_url": base_url,
        "judge.model": judge_model,
        "judge.base_url": judge_base_url,
        "embedder.model": embedder,
        "grade": grade,
        "packing.budget": budget,
        "packing.policy": policy,
        "packing.router": router,
        "runs": runs,
        "execution.output": output,
        "execution.shards": shards,
        **parse_settings(settings or []),
    }
    given = {key: value for key, value in overrides.items() if value is not None}
    _benchmark(with_judge_endpoint(load_run_config(config, given)), as_json=as_json)


def _benchmark(config: RunConfig, *, as_json: bool) -> None:
    from memsif_ray.cli.summary import show_summary, summary_of
    from memsif_ray.runtime.benchmark import run_benchmark

    with stdout_kept_clean():
        result = run_benchmark(config)
        summary = summary_of(result.folder)
    print_result(plain_result(result, summary), show_summary(summary), as_json=as_json)
    for line in result.report():
        note(line)
    raise typer.Exit(exit_code_of(result))


def plain_result(result: RunResult, summary: Summary) -> dict[str, Any]:
    """A run's outcome as plain data."""
    return {
        "folder": result.folder.path,
        "units": len(result.records),
        "failures": [
            {"stage": r.stage, "method": r.method, "conversation_id": r.conversation_id, "reason": r.reason}
            for r in result.failures
        ],
        "unanswered": result.unanswered,
        "summary": summary.as_dict(),
    }


def exit_code_of(result: RunResult) -> int:
    """0 when nothing failed, else who must act."""
    if result.exit_code == 0:
        return 0
    asked = [record for record in result.records if record.stage == "ask"]
    gone = all("ServiceBusy" in record.reason for record in asked)
    return NO_SERVICE if gone else SOME_FAILED


def with_judge_endpoint(config: RunConfig) -> RunConfig:
    """A judge without an endpoint of its own is another model behind the same one.

    Raises:
        ConfigError: When there is none, because the embedded engine runs one model only.
    """
    if config.judge is None or config.judge.base_url is not None:
        return config
    if config.model.base_url is None:
        raise ConfigError(
            "the embedded engine runs one model only: give --judge-base-url or no --judge-model"
        )
    return config.model_copy(
        update={"judge": config.judge.model_copy(update={"base_url": config.model.base_url})}
    )


def _listed(text: str | None) -> tuple[str, ...] | None:
    return None if text is None else tuple(part.strip() for part in text.split(",") if part.strip())


def _question_ids(text: str | None) -> tuple[str, ...] | None:
    if text is None or not Path(text).is_file():
        return _listed(text)
    lines = (line.strip() for line in Path(text).read_text(encoding="utf-8").splitlines())
    return tuple(line for line in lines if line and not line.startswith("#"))
