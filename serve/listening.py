"""An HTTP server inside a replica, for what Ray Serve's proxy should not stand before."""

import asyncio
import socket
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from pydantic import Field
from starlette.types import ASGIApp

from memsif_ray.config import Strict
from memsif_ray.errors import ConfigError


class Address(Strict):
    """Where to listen."""

    host: str = "127.0.0.1"
    port: int = Field(ge=1, le=65535)


class Listener:
    """Serves an app on the running event loop until it is closed. Its lifespan is its owner's affair."""

    def __init__(self, app: ASGIApp, at: Address) -> None:
        """Begin; connections are taken from now on.

        Raises:
            ConfigError: When the address cannot be had.
        """
        family = socket.AF_INET6 if ":" in at.host else socket.AF_INET
        try:
            listening = socket.create_server((at.host, at.port), family=family)
        except OSError as exc:
            raise ConfigError(f"cannot listen at {at.host}:{at.port}: {exc.strerror}") from exc
        config = uvicorn.Config(app, lifespan="off", log_level="warning", access_log=False)
        self._server = _Unsignalled(config)
        self._serving = asyncio.create_task(self._server.serve([listening]))

    @property
    def ended(self) -> bool:
        """Has it stopped, whoever wanted that?"""
        return self._serving.done()

    async def close(self) -> None:
        """Take no more connections, and finish what has begun."""
        self._server.should_exit = True
        await self._serving


class _Unsignalled(uvicorn.Server):
    """Leaves the signals of the process to Serve."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


def free_port(host: str) -> int:
    """A port that nobody uses now."""
    with socket.create_server((host, 0)) as probe:
        port: int = probe.getsockname()[1]
    return port
