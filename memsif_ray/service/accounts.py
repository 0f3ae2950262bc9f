"""Model work by tenant, gathered and written now and then, so that no request waits for it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from contextvars import Context
from dataclasses import dataclass
from datetime import datetime, timedelta

from memsif_ray.errors import ServiceError
from memsif_ray.logs import without_words
from memsif_ray.service.counting import Counter
from memsif_ray.service.models import Usage
from memsif_ray.service.store import MemoryStore

LOGGER = logging.getLogger(__name__)

EVERY = timedelta(seconds=5)
"""Usage of at most so long is lost when the process is killed; nothing else is."""


@dataclass(slots=True)
class _Sum:
    requests: int
    work: Counter


class Accounts:
    """What tenants have used since it was last written.

    Args:
        store: Where it is written.
        now: The clock.
    """

    def __init__(self, store: MemoryStore, now: Callable[[], datetime]) -> None:
        """Nothing used yet."""
        self._store, self._now = store, now
        self._sums: dict[str, _Sum] = {}
        self._written = now()
        self._writing: asyncio.Task[None] | None = None
        self.total = Counter()

    def add(self, tenant: str, work: Counter, *, requests: int = 0) -> None:
        """Add work, and requests, to a tenant's account."""
        self._gather(tenant, work, requests)
        self.total.add(work)

    def write_soon(self) -> None:
        """Begin to write when the last time is long ago. What cannot be written is kept for the next time."""
        if self._writing is None and self._now() - self._written >= EVERY:
            # In a context of its own: it is nobody's request.
            self._writing = asyncio.create_task(self._try_to_write(), context=Context())

    async def write(self) -> None:
        """Write all that was used until now.

        Raises:
            ServiceError: When the store does not take it; nothing is lost.
        """
        if self._writing is not None:
            await asyncio.shield(self._writing)
        await self._write()

    async def _try_to_write(self) -> None:
        try:
            await self._write()
        except ServiceError as exc:
            LOGGER.warning("usage is not written yet", extra=without_words(exc))
        finally:
            self._writing = None

    async def _write(self) -> None:
        self._written = self._now()
        for tenant in list(self._sums):
            one = self._sums.pop(tenant)
            if not one.requests and one.work.usage == Usage():
                continue
            try:
                await self._store.add_usage(tenant, self._now(), one.work.usage, requests=one.requests)
            except ServiceError:
                self._gather(tenant, one.work, one.requests)
                raise

    def _gather(self, tenant: str, work: Counter, requests: int) -> None:
        into = self._sums.setdefault(tenant, _Sum(0, Counter()))
        into.requests += requests
        into.work.add(work)
