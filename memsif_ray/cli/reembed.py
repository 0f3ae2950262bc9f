"""`memsif reembed`: another embedder for memories that are there."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from memsif_ray.cli.output import AsJson, note, print_result, stdout_kept_clean
from memsif_ray.cli.stores import Data, EmbedderUrl, Store

if TYPE_CHECKING:
    from memsif_ray.config import EmbedderConfig
    from memsif_ray.service.reembedding import Reembedded
    from memsif_ray.service.store import ConversationRow


def reembed(
    embedder: Annotated[str, typer.Option("--embedder", help="The new one.")],
    embedder_url: EmbedderUrl = None,
    data: Data = None,
    store: Store = None,
    as_json: AsJson = False,
) -> None:
    """Make all vectors of a memory service anew with another embedder; ids, texts and facts stay.

    Stop the service before, and start it with the new embedder after. A conversation is changed as a whole or
    not at all: when this is interrupted, the same command does what is left.
    """
    from memsif_ray.config import EmbedderConfig
    from memsif_ray.storage.sql.location import store_url

    config = EmbedderConfig(model=embedder, base_url=embedder_url)
    with stdout_kept_clean():
        done = asyncio.run(_reembedded(store_url(store, data), config))
    shown = f"{done.changed} of {done.conversations} conversations changed, {done.vectors} vectors made"
    print_result({"embedder": embedder, **asdict(done)}, shown, as_json=as_json)


async def _reembedded(url: str, config: EmbedderConfig) -> Reembedded:
    from memsif_ray.clients.embedders import HttpEmbedder, make_embedder
    from memsif_ray.service.backend import LOCAL_TENANT
    from memsif_ray.service.reembedding import reembed
    from memsif_ray.storage.sql import open_store

    async with AsyncExitStack() as stack:
        made = make_embedder(config)
        if isinstance(made, HttpEmbedder):
            stack.push_async_callback(made.aclose)
        opened = await open_store(url)
        stack.push_async_callback(opened.close)
        tenants = sorted({LOCAL_TENANT, *await opened.api_keys.tenants()})
        return await reembed(opened, tenants, made, progress=_tell)


def _tell(row: ConversationRow, vectors: int) -> None:
    note(f"{row.conversation_id}: {f'{vectors} vectors' if vectors else 'nothing to do'}")
