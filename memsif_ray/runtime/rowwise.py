"""Rows of one task side by side, where a service may fail some of them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar

from memsif_ray.errors import ServiceBusy, ServiceError
from memsif_ray.methods.together import together
from memsif_ray.runtime.units import reason_of

Key = TypeVar("Key")
Value = TypeVar("Value")

_AT_A_TIME = 8
_GIVE_UP_AFTER = 3
"""Rows in a row that a busy service failed, each for its whole deadline, before the others are not tried."""


@dataclass(frozen=True, slots=True)
class Rows(Generic[Key, Value]):
    """What came of each row: a value, or why its service failed, which the next start may mend."""

    values: Mapping[Key, Value]
    failures: Mapping[Key, str]


async def each(keys: Iterable[Key], do: Callable[[Key], Awaitable[Value]]) -> Rows[Key, Value]:
    """Do all rows, a few at a time; once the service seems to be gone, no more of them.

    Raises:
        ConfigError: When every row would fail alike.
    """
    slots = asyncio.Semaphore(_AT_A_TIME)
    values: dict[Key, Value] = {}
    failures: dict[Key, str] = {}
    busy: list[str] = []

    async def one(key: Key) -> None:
        async with slots:
            if len(busy) >= _GIVE_UP_AFTER:
                failures[key] = f"not asked: {busy[-1]}"
                return
            try:
                values[key] = await do(key)
                busy.clear()
            except ServiceError as exc:
                failures[key] = reason_of(exc)
                busy[:] = [*busy, failures[key]] if isinstance(exc, ServiceBusy) else []

    await together([one(key) for key in keys])
    return Rows(values, failures)
