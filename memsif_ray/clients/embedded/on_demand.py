"""The embedded engine, started by the first request: much that is done with a memory needs no chat model."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from memsif_ray.clients.embedded.engine import Completion, Engine


class Startable(Engine, Protocol):
    """An engine that has to be started and closed."""

    async def start(self) -> None:
        """Load the model."""
        ...

    async def aclose(self) -> None:
        """End it."""
        ...


class EngineOnDemand:
    """An `Engine` that is made when tokens are counted, and started when a reply is asked for."""

    def __init__(self, model: str, make: Callable[[], Startable]) -> None:
        """Make nothing yet.

        Args:
            model: Served name.
            make: Finds the weights and makes the engine; may take a minute, and raise ConfigError.
        """
        self._model, self._make = model, make
        self._engine: Startable | None = None
        self._started = False
        self._making, self._starting = threading.Lock(), asyncio.Lock()

    @property
    def model(self) -> str:
        """Served name."""
        return self._model

    @property
    def ready(self) -> bool:
        """True until it has been started and has ended."""
        return self._engine is None or not self._started or self._engine.ready

    async def generate(
        self,
        messages: Sequence[dict[str, str]],
        max_tokens: int,
        *,
        temperature: float = 0.0,
        seed: int = 0,
        json_schema: dict[str, Any] | None = None,
    ) -> Completion:
        """Answer one conversation, starting the engine before if need be.

        Raises:
            ConfigError: When there is no such model. The next request tries again.
            ServiceError: When the engine cannot start, or as it says itself.
        """
        engine = await self._running()
        return await engine.generate(
            messages, max_tokens, temperature=temperature, seed=seed, json_schema=json_schema
        )

    def count_tokens(self, text: str) -> int:
        """Tokens in `text`; the first count loads the tokenizer, and no model.

        Raises:
            ConfigError: When there is no such model.
        """
        return self._made().count_tokens(text)

    async def aclose(self) -> None:
        """End what was started."""
        async with self._starting:
            if self._engine is not None and self._started:
                await self._engine.aclose()

    async def _running(self) -> Startable:
        async with self._starting:
            engine = await asyncio.to_thread(self._made)
            if not self._started:
                await engine.start()
                self._started = True
        return engine

    def _made(self) -> Startable:
        with self._making:
            if self._engine is None:
                self._engine = self._make()
            return self._engine
