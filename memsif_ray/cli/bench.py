"""`memsif bench`: measurements that need no chat model."""

from __future__ import annotations

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from memsif_ray.cli.failures import EPILOG
from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.config import RunConfig, load_run_config, parse_settings

if TYPE_CHECKING:
    from memsif_ray.runtime.retrieval_bench import RetrievalRow

app = typer.Typer(help="Measurements that need no chat model.", no_args_is_help=True)


@app.callback()
def _group() -> None:
    """Keeps `retrieval` a subcommand of its own name."""


@app.command(epilog=EPILOG)
def retrieval(
    data: Annotated[
        Path | None,
        typer.Option("--data", help="The dataset's file; the sample without.", show_default=False),
    ] = None,
    conversations: Annotated[
        str | None, typer.Option("--conversations", help="Ids to keep, with commas.", show_default=False)
    ] = None,
    settings: Annotated[
        list[str] | None, typer.Option("--set", help="Any setting of a run; repeatable.", show_default=False)
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Compare how much gold evidence each ranking brings into a token budget."""
    overrides = parse_settings(settings or [])
    if data is not None:
        from memsif_ray import datasets

        overrides |= {"data.path": data, "data.dataset": datasets.check(data).dataset}
    if conversations is not None:
        overrides["data.conversations"] = tuple(conversations.split(","))
    with stdout_kept_clean():
        rows = asyncio.run(_measured(load_run_config(None, overrides)))
    from memsif_ray.runtime.retrieval_bench import as_markdown

    print_result([asdict(row) for row in rows], as_markdown(rows), as_json=as_json)


async def _measured(config: RunConfig) -> list[RetrievalRow]:
    from memsif_ray import datasets
    from memsif_ray.clients.embedders import make_embedder
    from memsif_ray.clients.entities import make_entities
    from memsif_ray.runtime.retrieval_bench import retrieval_bench

    dataset = datasets.load(config.data)
    note(f"{len(dataset.conversations)} conversations, {len(dataset.questions)} questions")
    return await retrieval_bench(
        dataset,
        embedder=make_embedder(config.embedder),
        entities=make_entities(config.entities),
        config=config.memory,
    )
