"""The service of a process, for callers that have no event loop."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from contextlib import AbstractAsyncContextManager
from typing import Any, Concatenate, ParamSpec, TypeVar

from memsif_ray.service.arguments import page_size
from memsif_ray.service.backend import LOCAL_TENANT, Caller, Paging
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.models import Page

P = ParamSpec("P")
T = TypeVar("T")

ME = Caller(LOCAL_TENANT)
"""Whoever uses the library: the tenant of a server without keys, so that both see the same memories."""


class BlockingService:
    """`Conversations` in a thread with a loop of its own, for any number of other threads.

    Args:
        service: Entered here, left by `close`.
    """

    def __init__(self, service: AbstractAsyncContextManager[Conversations]) -> None:
        """Open it; errors are those of `service`."""
        self._service = service
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="memsif-memory", daemon=True)
        self._thread.start()
        try:
            self._conversations = self._wait(_entered(service))
        except BaseException:
            self._stop()
            raise

    def run(
        self,
        method: Callable[Concatenate[Conversations, Caller, P], Coroutine[Any, Any, T]],
        *args: P.args,
        **kwargs: P.kwargs,
    ) -> T:
        """What a method of `Conversations` returns."""
        return self._wait(method(self._conversations, ME, *args, **kwargs))

    def items(
        self, fetch: Callable[[Conversations, Paging], Coroutine[Any, Any, Page[T]]], size: int
    ) -> Iterator[T]:
        """Item after item, page after page.

        Raises:
            BadArgument: When no page may have that size.
        """
        return self._items(fetch, page_size(size))

    def close(self) -> None:
        """Leave the service and end the thread. A second time does nothing."""
        if not self._loop.is_closed():
            try:
                self._wait(_left(self._service))
            finally:
                self._stop()

    def _items(
        self, fetch: Callable[[Conversations, Paging], Coroutine[Any, Any, Page[T]]], limit: int
    ) -> Iterator[T]:
        cursor = None
        while True:
            page = self._wait(fetch(self._conversations, Paging(limit, cursor)))
            yield from page.results
            cursor = page.next_cursor
            if cursor is None:
                return

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        if self._loop.is_closed():
            work.close()
            raise RuntimeError("this memory is closed")
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result()
        except KeyboardInterrupt:
            future.cancel()
            raise

    def _stop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


async def _entered(service: AbstractAsyncContextManager[Conversations]) -> Conversations:
    return await service.__aenter__()


async def _left(service: AbstractAsyncContextManager[Conversations]) -> None:
    await service.__aexit__(None, None, None)
