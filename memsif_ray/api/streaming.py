"""Server-sent events of a chat, and what becomes of the turn when the client hangs up."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Any

from fastapi.responses import StreamingResponse
from starlette.types import Receive, Scope, Send

from memsif_ray.api.chat import VENDOR_FIELD
from memsif_ray.api.errors import as_api_error, detail
from memsif_ray.api.work import Work
from memsif_ray.errors import ServiceBusy, ServiceError

Chunk = dict[str, Any]


class Chunks:
    """The chunks of a model, each waited for no longer than `idle_s`, and the text they add up to.

    Attributes:
        usage: The model's, once it has told.
    """

    def __init__(self, source: AsyncIterator[Chunk], *, idle_s: float) -> None:
        """Nothing is asked of the model yet."""
        self.usage: Mapping[str, Any] | None = None
        self._source = source
        self._idle_s = idle_s
        self._said: list[str] = []

    @property
    def text(self) -> str:
        """What the model has said so far."""
        return "".join(self._said)

    def __aiter__(self) -> AsyncIterator[Chunk]:
        """Once only."""
        return self

    async def __anext__(self) -> Chunk:
        """The next one.

        Raises:
            ServiceError: When the model fails or is silent.
        """
        try:
            async with asyncio.timeout(self._idle_s):
                chunk = await anext(self._source)
        except TimeoutError:
            raise ServiceBusy("the chat model is silent", "timeout") from None
        self._said.append(_words(chunk))
        self.usage = chunk.get("usage") or self.usage
        return chunk

    async def close(self) -> None:
        """Let the model stop."""
        end = getattr(self._source, "aclose", None)
        if end is not None:
            await end()


def _words(chunk: Chunk) -> str:
    choices = chunk.get("choices") or [{}]
    return (choices[0].get("delta") or {}).get("content") or ""


class ChatStream(StreamingResponse):
    """Sends chunks as events, and has the turn remembered exactly once, however the sending ends."""

    def __init__(
        self,
        first: Chunk,
        rest: Chunks,
        *,
        vendor: Mapping[str, Any],
        remember: Callable[[Chunks], Awaitable[None]],
        work: Work,
    ) -> None:
        """Send nothing yet.

        Args:
            first: The chunk that was waited for, so that a model that fails at once is a proper error.
            rest: Those after it.
            vendor: Goes out with the first chunk.
            remember: Takes the turn in; must not mind being called for the same turn again.
            work: Whoever sees to what no reply waits for.
        """
        self._first = {**first, VENDOR_FIELD: vendor}
        self._rest = rest
        self._remember = remember
        self._work = work
        self._settled = False
        super().__init__(self._events(), media_type="text/event-stream", headers={"X-Accel-Buffering": "no"})

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send; when the client hangs up, what it said and was told so far still stands."""
        try:
            await super().__call__(scope, receive, send)
        finally:
            if not self._settled:
                self._work.later(self._abandoned())

    async def _events(self) -> AsyncIterator[bytes]:
        yield _event(self._first)
        try:
            async for chunk in self._rest:
                yield _event(chunk)
        except ServiceError as error:
            # Too late for a status. The client will try again, so half a reply is not remembered.
            self._settled = True
            yield _event({"error": detail(as_api_error(error)).model_dump()})
            return
        await self._remember(self._rest)
        self._settled = True
        yield b"data: [DONE]\n\n"

    async def _abandoned(self) -> None:
        await self._rest.close()
        await self._remember(self._rest)


def _event(data: Mapping[str, Any]) -> bytes:
    return f"data: {json.dumps(data, ensure_ascii=False)}\n\n".encode()
