"""Independent model calls side by side, their results in the order asked for."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

T = TypeVar("T")


async def together(work: Iterable[Coroutine[Any, Any, T]]) -> list[T]:
    """Await all of `work` at once; results come in its order, whichever ends first.

    How many calls are really in flight is the chat client's limit. When one fails the rest is cancelled
    and has ended before the failure is raised, so nothing writes to a ledger that is closed by then.
    """
    tasks = [asyncio.create_task(one) for one in work]
    try:
        return await asyncio.gather(*tasks)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
