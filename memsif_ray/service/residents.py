"""Which conversations are held in memory: a bounded number, those asked for last."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import TypeAlias

from memsif_ray.errors import ServiceBusy
from memsif_ray.service.live import Live
from memsif_ray.service.remembered import RETRY_AFTER_S
from memsif_ray.service.store import ConversationRow

Name: TypeAlias = tuple[str, str]
"""Tenant and conversation id."""


class Residents:
    """Live conversations by tenant and name. One that is let go of loses nothing: all is stored.

    Args:
        make: A live object around a row, not loaded yet.
        now: The clock.
        max_live: How many at most.
        idle: A conversation that nobody asks for so long is let go of.
    """

    def __init__(
        self,
        make: Callable[[ConversationRow], Live],
        *,
        now: Callable[[], datetime],
        max_live: int,
        idle: timedelta,
    ) -> None:
        """Nobody is there yet."""
        self._make, self._now, self._max_live, self._idle = make, now, max_live, idle
        self._live: OrderedDict[Name, Live] = OrderedDict()
        self._asked: dict[Name, datetime] = {}
        self._loading: dict[Name, asyncio.Lock] = {}

    def __len__(self) -> int:
        """How many there are."""
        return len(self._live)

    def all(self) -> list[Live]:
        """Those that are there, the one asked for last at the end."""
        return list(self._live.values())

    @asynccontextmanager
    async def using(self, row: ConversationRow) -> AsyncIterator[Live]:
        """The live conversation, loaded if need be; it stays as long as it is used.

        Raises:
            EmbedderMismatch: When its vectors are another embedder's.
            NotFound: When it is gone.
            ServiceBusy: When as many conversations are at work as may be held.
        """
        live = await self._get(row)
        live.users += 1
        try:
            yield live
        finally:
            live.users -= 1

    def find(self, tenant: str, conversation_id: str) -> ConversationRow | None:
        """The row of a conversation that is held and sound; saves asking the store."""
        live = self._live.get((tenant, conversation_id))
        return None if live is None or live.broken else live.row

    def find_key(self, tenant: str, key: str) -> ConversationRow | None:
        """The same by its key."""
        found = (one for one in self._live.values() if one.key == key and one.tenant == tenant)
        return next((live.row for live in found if not live.broken), None)

    def drop(self, live: Live) -> None:
        """Let go of a conversation that is no more."""
        name = (live.tenant, live.row.conversation_id)
        if self._live.get(name) is live:
            self._forget(name)

    async def _get(self, row: ConversationRow) -> Live:
        name = (row.tenant, row.conversation_id)
        async with self._loading.setdefault(name, asyncio.Lock()):
            live = self._live.get(name)
            if live is not None and (live.broken or live.key != row.key):
                self._forget(name)
                await live.stopped()
                live = None
            if live is None:
                self._make_room()
                live = self._make(row)
                await live.load()
                self._live[name] = live
            self._live.move_to_end(name)
            self._asked[name] = self._now()
        return live

    def _make_room(self) -> None:
        for name, live in list(self._live.items()):
            full = len(self._live) >= self._max_live
            idle = self._now() - self._asked[name] > self._idle
            if not live.busy and (full or idle):
                self._forget(name)
        if len(self._live) >= self._max_live:
            raise ServiceBusy(
                f"all {self._max_live} conversations in memory are at work",
                "too_many_conversations",
                retry_after_s=RETRY_AFTER_S,
            )

    def _forget(self, name: Name) -> None:
        del self._live[name], self._asked[name]
        lock = self._loading.get(name)
        if lock is not None and not lock.locked():
            del self._loading[name]
