"""The compared systems, by name."""

from __future__ import annotations

from collections.abc import Callable

from memsif_ray.config import RunConfig
from memsif_ray.errors import ConfigError
from memsif_ray.methods.base import MemoryMethod, Tables, Tools
from memsif_ray.methods.full_context import FullContext
from memsif_ray.methods.memsif import MemSIF
from memsif_ray.methods.naive_rag import NaiveRag

__all__ = ["METHODS", "MemoryMethod", "Tables", "Tools", "make_method"]

METHODS: dict[str, Callable[[RunConfig, Tools], MemoryMethod]] = {
    MemSIF.name: MemSIF,
    NaiveRag.name: NaiveRag,
    FullContext.name: FullContext,
}


def make_method(name: str, config: RunConfig, tools: Tools) -> MemoryMethod:
    """A fresh method for one conversation.

    Raises:
        ConfigError: When there is no method of that name.
    """
    if name not in METHODS:
        raise ConfigError(f"unknown method {name!r}; known: {', '.join(METHODS)}")
    return METHODS[name](config, tools)
