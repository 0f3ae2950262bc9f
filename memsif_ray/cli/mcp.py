"""`memsif mcp`: memory as tools of an agent."""

from __future__ import annotations

from typing import Annotated

import typer

from memsif_ray.cli.output import note
from memsif_ray.cli.stores import Place, at_a_place, memory_at
from memsif_ray.errors import ConfigError

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


@at_a_place
def mcp(
    place: Place,
    conversation: Annotated[
        str | None,
        typer.Option(
            "--conversation",
            help="The only conversation of all tools; else each call names its own.",
            show_default=False,
        ),
    ] = None,
    http: Annotated[bool, typer.Option("--http", help="Streamable HTTP at /mcp instead of stdio.")] = False,
    host: Annotated[str, typer.Option("--host", help="With --http: a name of this machine.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", help="With --http.", min=1, max=65535)] = 8765,
) -> None:
    """Serve memory to agents over the Model Context Protocol.

    Tools: add, search, list, get, update, delete and explain memories.

    Over HTTP the tools ask nobody for a key, so only this machine can reach them. Without a service, memory
    is in this process and its database: the one that `memsif serve` uses.
    """
    if host not in _LOOPBACK:
        raise ConfigError("--host must be this machine, e.g. 127.0.0.1: the tools ask nobody for a key")
    try:
        from memsif_ray.api.mcp import make_mcp_server
    except ModuleNotFoundError as exc:
        if exc.name not in ("mcp", "mcp_types"):
            raise
        raise ConfigError("this needs the package mcp: pip install 'memsif-ray[mcp]'") from exc
    with memory_at(place) as memory:
        server = make_mcp_server(memory, conversation_id=conversation)
        if http:
            note(f"tools at http://{host}:{port}/mcp")
            server.run("streamable-http", host=host, port=port)
        else:
            server.run("stdio")
