"""Options that say where memories are, and the memory that they name."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeAlias, get_type_hints

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
EmbedderName = Annotated[
    str | None,
    typer.Option("--embedder", help="Embedder, where memory is in this process.", show_default=False),
]
EmbedderUrl = Annotated[
    str | None,
    typer.Option("--embedder-url", help="Its endpoint, unless it is a local model.", show_default=False),
]
AnyMemory: TypeAlias = "Client | Memory"

_TIMEOUT_S = 600.0
"""Of one call to a service: a small model on a CPU takes its time."""


@dataclass(frozen=True, slots=True)
class Place:
    """Where memories are, and what they are made with: the options of every command about memories."""

    base_url: BaseUrl = None
    data: Data = None
    store: Store = None
    model: Model = None
    embedder: EmbedderName = None
    embedder_url: EmbedderUrl = None


def at_a_place(command: Callable[..., None]) -> Callable[..., None]:
    """The command with the options of `Place` after its own, instead of its first argument."""
    fields = inspect.signature(Place).parameters
    hints = get_type_hints(Place, include_extras=True)

    @wraps(command)
    def run(*args: Any, **given: Any) -> None:
        place = Place(**{name: given.pop(name) for name in fields})
        command(place, *args, **given)

    _, *own = inspect.signature(command, eval_str=True).parameters.values()
    shared = [field.replace(annotation=hints[name]) for name, field in fields.items()]
    parameters = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY) for p in (*own, *shared)]
    run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {p.name: p.annotation for p in parameters}
    return run


@contextmanager
def memory_at(place: Place) -> Iterator[AnyMemory]:
    """The memory of a service, or of a database in this process.

    In this process no chat model starts before something needs it.

    Raises:
        ConfigError: When it cannot be used.
        ServiceError: When the service does not answer or fails.
    """
    if place.base_url is not None and place.data is None:
        yield from _served(place.base_url)
        return
    from memsif_ray.config import EmbedderConfig, ModelConfig
    from memsif_ray.library import Memory
    from memsif_ray.storage.sql.location import store_url

    with stdout_kept_clean():
        memory = Memory(
            store=store_url(place.store, place.data),
            model=ModelConfig(model=place.model or ModelConfig().model),
            embedder=EmbedderConfig(
                model=place.embedder or EmbedderConfig().model, base_url=place.embedder_url
            ),
        )
    with memory:
        yield memory


def _served(url: str) -> Iterator[Client]:
    from memsif_ray.api.client import APIConnectionError, Client, ServerError

    with Client(url, timeout=_TIMEOUT_S) as client:
        try:
            yield client
        except (APIConnectionError, ServerError) as exc:
            raise ServiceError(str(exc)) from exc
