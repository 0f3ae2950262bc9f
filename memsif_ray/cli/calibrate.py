"""`memsif calibrate`: thresholds for an embedder, from conversations that nobody has labelled."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

import typer
import yaml

from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.config import DataConfig, EmbedderConfig

if TYPE_CHECKING:
    from rich.console import RenderableType

    from memsif_ray.memory.calibration import Calibration
    from memsif_ray.types import Conversation


def calibrate(
    files: Annotated[
        list[Path], typer.Argument(help="Dataset files; their questions and answers are not looked at.")
    ],
    embedder: Annotated[
        str,
        typer.Option("--embedder", help="Sentence embedder: bundled name, folder, hub id or served name."),
    ] = "all-MiniLM-L6-v2",
    embedder_base_url: Annotated[
        str | None, typer.Option("--embedder-base-url", help="Endpoint of the embedder.", show_default=False)
    ] = None,
    entities: Annotated[str, typer.Option("--entities", help="auto, spacy or rules.")] = "auto",
    normalisation: Annotated[str, typer.Option("--normalisation", help="clip or affine.")] = "clip",
    as_json: AsJson = False,
) -> None:
    """Fit tau_split, tau_merge and tau_join to an embedder, and print them as settings.

    Also says which share of the boundaries is then split, appended, or put to a judge.
    """
    config = EmbedderConfig(model=embedder, base_url=embedder_base_url)
    with stdout_kept_clean():
        found = asyncio.run(_fitted(files, config, cast("Literal['auto', 'spacy', 'rules']", entities)))
    chosen = next((one for one in found if one.normalisation == normalisation), None)
    if chosen is None:
        raise typer.BadParameter(
            f"{normalisation!r} is neither clip nor affine", param_hint="--normalisation"
        )
    print_result([_plain(one) for one in found], _shown(chosen, embedder), as_json=as_json)


async def _fitted(
    files: list[Path], config: EmbedderConfig, entities: Literal["auto", "spacy", "rules"]
) -> list[Calibration]:
    from memsif_ray.clients.embedders import make_embedder
    from memsif_ray.clients.entities import make_entities
    from memsif_ray.memory import calibration

    conversations = [conversation for file in files for conversation in _conversations(file)]
    messages = sum(len(conversation.messages) for conversation in conversations)
    note(f"measuring {messages:,} messages of {len(conversations)} conversations with {config.model}")
    return await calibration.calibrate(conversations, make_embedder(config), make_entities(entities))


def _conversations(file: Path) -> list[Conversation]:
    from memsif_ray import datasets

    layout = datasets.check(file).dataset
    found = datasets.iter_histories(DataConfig.model_validate({"dataset": layout, "path": file}))
    # LongMemEval repeats a conversation for each question about it.
    return list({history.conversation.conversation_id: history.conversation for history in found}.values())


def _settings(one: Calibration) -> dict[str, Any]:
    split, merge, join = one.thresholds
    return {
        "memory": {
            "matching": {"normalisation": one.normalisation},
            "segments": {"tau_split": split, "tau_merge": merge},
            "trajectories": {"tau_join": join},
        }
    }


def _plain(one: Calibration) -> dict[str, Any]:
    return {
        "normalisation": one.normalisation,
        "boundaries": one.boundaries,
        "shares": one.shares._asdict(),
        "paper_shares": one.paper_shares._asdict(),
        "settings": _settings(one),
    }


def _shown(one: Calibration, embedder: str) -> RenderableType:
    lines = [
        f"# {embedder}, {one.normalisation}, {one.boundaries:,} boundaries",
        f"# these thresholds:     {_shares(one.shares)}",
        f"# the paper's for Qwen3: {_shares(one.paper_shares)}",
        yaml.safe_dump(_settings(one), sort_keys=False).rstrip(),
    ]
    return "\n".join(lines)


def _shares(shares: Any) -> str:
    return f"{shares.split:.0%} split, {shares.merge:.0%} appended, {shares.judged:.0%} put to a judge"
