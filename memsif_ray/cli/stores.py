"""Options that say where memories are, and the memory that they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, TypeAlias

import typer

from memsif_ray.cli.output import stdout_kept_clean
from memsif_ray.errors import ServiceError

if TYPE_CHECKING:
    from memsif_ray.api.client import Client
    from memsif_ray.library import Memory

Data = Annotated[
    Path | None, typer.Option("--data", help="Folder of the database; by default the user's data folder.")
]
Store = Annotated[
    str | None,
    typer.Option("--store", envvar="MEMSIF_STORE", help="Its URL instead, e.g. postgresql://user@host/name."),
]
BaseUrl = Annotated[
    str | None,
    typer.Option(
        "--base-url",
        envvar="MEMSIF_RAY_BASE_URL",
        help="Memory service, with the key in $MEMSIF_RAY_API_KEY; else memory in this process. --data wins.",
        show_default=False,
    ),
]
Model = Annotated[
    str | None,
    typer.Option("--model", help="Embedded model, where memory is in this process.", show_default=False),
]
AnyMemory: TypeAlias = "Client | Memory"

_TIMEOUT_S = 600.0
"""Of one call to a service: a small model on a CPU takes its time."""


@contextmanager
def memory_at(
    base_url: str | None, data: Path | None, store: str | None, model: str | None = None
) -> Iterator[AnyMemory]:
    """The memory of a service, or of a database in this process.

    Raises:
        ConfigError: When it cannot be used.
        ServiceError: When the service does not answer or fails.
    """
    if base_url is not None and data is None:
        yield from _served(base_url)
        return
    from memsif_ray.config import ModelConfig
    from memsif_ray.library import Memory
    from memsif_ray.storage.sql.location import store_url

    config = ModelConfig() if model is None else ModelConfig(model=model)
    with stdout_kept_clean():
        memory = Memory(store=store_url(store, data), model=config)
    with memory:
        yield memory


def _served(url: str) -> Iterator[Client]:
    from memsif_ray.api.client import APIConnectionError, Client, ServerError

    with Client(url, timeout=_TIMEOUT_S) as client:
        try:
            yield client
        except (APIConnectionError, ServerError) as exc:
            raise ServiceError(str(exc)) from exc
