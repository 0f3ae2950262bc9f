"""Model work by tenant, gathered and written now and then, so that no request waits for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from memsif_ray.service.counting import Counter
from memsif_ray.service.models import Usage
from memsif_ray.service.store import MemoryStore

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
        self.total = Counter()

    def add(self, tenant: str, work: Counter, *, requests: int = 0) -> None:
        """Add work, and requests, to a tenant's account."""
        into = self._sums.setdefault(tenant, _Sum(0, Counter()))
        into.requests += requests
        into.work.add(work)
        self.total.add(work)

    async def write(self, *, if_due: bool = False) -> None:
        """Write what was gathered; with `if_due`, only when that was long ago."""
        now = self._now()
        if if_due and now - self._written < EVERY:
            return
        self._written, gathered, self._sums = now, self._sums, {}
        for tenant, one in gathered.items():
            if one.requests or one.work.usage != Usage():
                await self._store.add_usage(tenant, now, one.work.usage, requests=one.requests)
