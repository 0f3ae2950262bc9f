"""`memsif oas`: what to do with notes under a token budget, measured and learned."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from memsif_ray.cli.diagnosing import exit_code
from memsif_ray.cli.failures import EPILOG
from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.cli.run import with_judge_endpoint
from memsif_ray.config import ModelConfig, load_run_config, parse_settings
from memsif_ray.errors import ConfigError
from memsif_ray.packing.folds import PAPER_SPLIT

if TYPE_CHECKING:
    from rich.console import Group

    from analysis.oas.study import OasStudy
    from analysis.page import Grid
    from memsif_ray.ports import TokenCounter

app = typer.Typer(help="When to consolidate notes under a token budget, and how (OAS).", no_args_is_help=True)
_CL100K = "cl100k_base"


def _option(name: str, text: str) -> Any:
    return typer.Option(name, help=text, show_default=False)


@app.command(epilog=EPILOG)
def evidence(
    data: Annotated[Path, _option("--data", "The dataset's file.")],
    tokenizer: Annotated[
        str, typer.Option("--tokenizer", help=f"An embedded model, or {_CL100K}.")
    ] = ModelConfig().model,
    budgets: Annotated[str, typer.Option("--budgets", help="Tokens, with commas.")] = "32,64,128,256",
    as_json: AsJson = False,
) -> None:
    """What evidence turns cost in tokens, and how often all evidence fits, beside the paper's numbers.

    Needs no chat model: of an embedded model, only the tokenizer is loaded.
    """
    from analysis.oas.costs import evidence_grid
    from memsif_ray import datasets
    from memsif_ray.packing.evidence_cost import evidence_costs

    overrides = {"data.path": data, "data.dataset": datasets.check(data).dataset}
    dataset = datasets.load(load_run_config(None, overrides).data)
    note(f"counting tokens of {tokenizer}")
    costs = evidence_costs(dataset, tokens=_counter(tokenizer), budgets=_numbers(budgets))
    grid = evidence_grid(costs, tokenizer, dataset.report.source)
    plain = {"source": dataset.report.source, "tokenizer": tokenizer, "costs": [asdict(c) for c in costs]}
    print_result(plain, _text([grid]), as_json=as_json)


@app.command(epilog=EPILOG)
def label(
    config: Annotated[
        Path | None, typer.Argument(help="YAML file with settings; options override it.", show_default=False)
    ] = None,
    data: Annotated[Path | None, _option("--data", "The dataset's file.")] = None,
    conversations: Annotated[str | None, _option("--conversations", "Ids to keep, with commas.")] = None,
    sample: Annotated[
        int | None,
        _option("--sample", "Questions, drawn over types and lengths of evidence; all by default."),
    ] = None,
    source: Annotated[
        str | None, _option("--evidence", "gold (default), or bm25: retrieved from the whole history.")
    ] = None,
    budgets: Annotated[
        str | None, _option("--budgets", "Tokens, with commas; the paper's by default.")
    ] = None,
    realisations: Annotated[int | None, _option("--realisations", "Repeats (default: 3).")] = None,
    utility: Annotated[
        str | None, _option("--utility", "f1 (default), rules, or judge: a model grades.")
    ] = None,
    model: Annotated[str | None, _option("--model", "Chat model; embedded without --base-url.")] = None,
    base_url: Annotated[str | None, _option("--base-url", "OpenAI-compatible endpoint.")] = None,
    embedder: Annotated[str | None, _option("--embedder", "Sentence embedder.")] = None,
    output: Annotated[Path | None, _option("--output", "Folder of all runs (default: runs).")] = None,
    settings: Annotated[list[str] | None, _option("--set", "Any setting of a run; repeatable.")] = None,
    as_json: AsJson = False,
) -> None:
    """Carry out all four actions for every question, budget and realisation, and grade what comes of it.

    What is done is never done again: an interrupted job goes on where it was.
    """
    from memsif_ray import datasets

    overrides = {
        "data.path": data,
        "data.dataset": datasets.check(data).dataset if data else None,
        "data.conversations": tuple(_listed(conversations)) if conversations else None,
        "labelling.sample": sample,
        "labelling.evidence": source,
        "labelling.budgets": _numbers(budgets) if budgets else None,
        "labelling.realisations": realisations,
        "labelling.utility": utility,
        "model.model": model,
        "model.base_url": base_url,
        "embedder.model": embedder,
        "execution.output": output,
        **parse_settings(settings or []),
    }
    given = {key: value for key, value in overrides.items() if value is not None}
    with stdout_kept_clean():
        from analysis.oas.costs import label_grid
        from memsif_ray.runtime.labelling import label_actions

        job = label_actions(with_judge_endpoint(load_run_config(config, given)))
        grid = label_grid(job.folder.tables.read("labels"))
    plain = {
        "folder": job.folder.path,
        "questions": len(job.records),
        "failures": [asdict(record) for record in job.failures],
        "actions": [dict(zip(grid.header, map(str, row), strict=True)) for row in grid.rows],
    }
    print_result(plain, _text([grid]), as_json=as_json)
    for line in job.report():
        note(line)
    raise typer.Exit(exit_code(job))


@app.command(epilog=EPILOG)
def train(
    labels: Annotated[Path, typer.Argument(help="Folder of a labelling job.")],
    history: Annotated[
        Path | None, _option("--history", "Labels with retrieved candidates, for the full-history test.")
    ] = None,
    features: Annotated[str, typer.Option("--features", help="paper, or extended.")] = "paper",
    split: Annotated[
        str, typer.Option("--split", help="Questions to fit, calibrate and test on; scaled down if fewer.")
    ] = ",".join(map(str, PAPER_SPLIT)),
    mlp: Annotated[bool, typer.Option("--mlp", help="Cross-fit the nonlinear control, too.")] = False,
    seed: Annotated[int, typer.Option("--seed", help="Of folds, splits and resampling.")] = 2026,
    save: Annotated[
        Path | None, _option("--save", "Where to keep the router, for memsif run --router.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Train a router on labels, and compare it with every fixed policy and the hindsight oracle.

    Writes a report with all tables and figures beside the labels. The router that is kept was fitted on the
    first part of the split and calibrated on the second.
    """
    from analysis.oas.page import shown, write_oas_page
    from analysis.oas.study import study
    from memsif_ray.storage.files import write_text
    from memsif_ray.storage.labels import read_labels

    kind = _feature_set(features)
    found = study(
        read_labels(labels, feature_set=kind),
        history=read_labels(history, feature_set=kind) if history else None,
        split=_numbers(split),
        mlp=mlp,
        seed=seed,
    )
    if save:
        write_text(save, found.router.model_dump_json(indent=2) + "\n")
    report = write_oas_page(found)
    plain = {"labels": found.labels.path, "router": save, "report": report, **_plain(found)}
    print_result(plain, _text(shown(found)), as_json=as_json)
    for one in found.undefined:
        note(f"undefined: {one}")
    note(f"router: {save}" if save else "router: not kept; --save FILE keeps it")
    note(f"report: {report}")


def _plain(found: OasStudy) -> dict[str, Any]:
    return {
        "questions": len(found.labels.questions),
        "refused": found.labels.refused,
        "undefined": found.undefined,
        "policies": [asdict(row) for row in found.policies],
        "strata": [asdict(row) for row in found.strata],
        "calibration": [asdict(row) for row in found.calibration],
        "mlp": {str(budget or "mean"): asdict(gain) for budget, gain in found.mlp_gains.items()},
        "split": found.split and [asdict(row) for row in found.split.result.rows],
        "history": found.history and [asdict(row) for row in found.history.result.rows],
    }


def _feature_set(name: str) -> Any:
    from memsif_ray.packing.features import NAMES

    if name not in NAMES:
        raise ConfigError(f"--features is {' or '.join(NAMES)}, not {name!r}")
    return name


def _counter(name: str) -> TokenCounter:
    if name == _CL100K:
        from memsif_ray.clients.cl100k import Cl100kCounter

        return Cl100kCounter()
    from memsif_ray.clients.embedded.counting import EmbeddedTokenCounter

    return EmbeddedTokenCounter(name, progress=note)


def _listed(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _numbers(text: str) -> tuple[int, ...]:
    """Whole numbers above zero.

    Raises:
        ConfigError: When one is something else.
    """
    parts = _listed(text)
    if not parts or not all(part.isdecimal() and int(part) for part in parts):
        raise ConfigError(f"whole numbers above zero, with commas between them, not {text!r}")
    return tuple(map(int, parts))


def _text(grids: list[Grid]) -> Group:
    from rich.console import Group

    from analysis.diagnosis.pages import as_text

    return Group(*map(as_text, grids))
