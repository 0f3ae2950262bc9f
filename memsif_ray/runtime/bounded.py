"""The window on remote calls, once for all."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

import ray

T = TypeVar("T")


def map_bounded(submit: Callable[[T], Any], items: Iterable[T], *, limit: int) -> Iterator[Any]:
    """Yield results as they finish, with at most `limit` calls open.

    The next item is taken only when there is room, so a slow iterable is never read ahead.
    """
    pending: list[Any] = []
    for item in items:
        if len(pending) >= limit:
            ready, pending = ray.wait(pending, num_returns=1)
            yield ray.get(ready[0])
        pending.append(submit(item))
    while pending:
        ready, pending = ray.wait(pending, num_returns=1)
        yield ray.get(ready[0])
