"""`memsif mcp`: memory as tools of an agent."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

from memsif_ray.cli.output import note, stdout_kept_clean
from memsif_ray.errors import ConfigError

if TYPE_CHECKING:
    from memsif_ray.api.verbs import Remembers

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def mcp(
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            help="The only conversation of all tools; else each call names its own.",
            show_default=False,
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            "--base-url",
            help="Memory service; by default $MEMSIF_RAY_BASE_URL, else memory in this process.",
            show_default=False,
        ),
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP at /mcp instead of stdio.")] = False,
    host: Annotated[str, typer.Option("--host", help="With --http: a name of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="With --http.", min=1, max=65535)] = 8765,
) -> None:
    """Serve memory to agents over the Model Context Protocol.

    Tools: add, search, list and get memories; with a service also update, delete and explain.

    The key of the service is taken from $MEMSIF_RAY_API_KEY. Over HTTP the tools ask nobody for a key, so
    only this machine can reach them. Without a service, memory is that of this process: one conversation,
    gone at the end.
    """
    if host not in _LOOPBACK:
        raise ConfigError("--host must be this machine, e.g. 127.0.0.1: the tools ask nobody for a key")
    try:
        from memsif_ray.api.mcp import make_mcp_server
    except ModuleNotFoundError as exc:
        if exc.name not in ("mcp", "mcp_types"):
            raise
        raise ConfigError("this needs the package mcp: pip install 'memsif-ray[mcp]'") from exc
    url = base_url or os.environ.get("MEMSIF_RAY_BASE_URL")
    with _remote(url, conversation) if url else _embedded(conversation or "memory") as (memory, scope):
        server = make_mcp_server(memory, conversation_id=scope)
        if http:
            note(f"tools at http://{host}:{port}/mcp")
            server.run("streamable-http", host=host, port=port)
        else:
            server.run("stdio")


@contextmanager
def _remote(url: str, conversation: str | None) -> Iterator[tuple[Remembers, str | None]]:
    from memsif_ray.api.client import Client

    with Client(url) as client:
        yield client, conversation


@contextmanager
def _embedded(conversation: str) -> Iterator[tuple[Remembers, str | None]]:
    from memsif_ray.api.embedded import EmbeddedMemory
    from memsif_ray.library import Memory

    with stdout_kept_clean():
        memory = Memory()
    note(f"no service named: memory of this process, conversation {conversation!r}, gone when it ends")
    with memory:
        yield EmbeddedMemory(memory, conversation), conversation
