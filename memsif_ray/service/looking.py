"""Looking at conversations: lists, and one memory with all that it rests on."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from memsif_ray.service import shown
from memsif_ray.service.backend import Caller, Paging
from memsif_ray.service.desk import Desk, tenant_of
from memsif_ray.service.intake import local
from memsif_ray.service.models import (
    AuditEntry,
    Candidate,
    ConversationOut,
    HistoryEntry,
    Memory,
    Operation,
    Page,
    Provenance,
    SegmentOut,
    SourceMessage,
    TenantUsage,
    TrajectoryOut,
)
from memsif_ray.service.paging import cursor_of, key_of, page
from memsif_ray.types import Track


class Looking(Desk):
    """The part of a `Backend` that changes nothing and asks no model."""

    async def conversations(self, caller: Caller, paging: Paging) -> Page[ConversationOut]:
        """See `Backend.conversations`."""
        after = key_of(paging.cursor)
        rows = await self._store.conversations(tenant_of(caller), after=after, limit=paging.limit + 1)
        some = [
            ConversationOut(
                conversation_id=row.conversation_id,
                messages=row.messages,
                created_at=row.created_at,
                updated_at=row.updated_at,
                pending=len(await self._store.unfinished(row.key)),
            )
            for row in rows[: paging.limit]
        ]
        more = len(rows) > len(some)
        return Page(results=tuple(some), next_cursor=cursor_of(some[-1].conversation_id) if more else None)

    async def messages(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[SourceMessage]:
        """See `Backend.messages`."""
        async with self._live(caller, conversation_id) as live:
            found = page(live.messages, paging, lambda m: f"{m.position:09d}")
            return Page(
                results=tuple(map(shown.source_message, found.results)), next_cursor=found.next_cursor
            )

    async def memories(
        self,
        caller: Caller,
        conversation_id: str,
        paging: Paging,
        *,
        track: Literal["core", "active"] | None = None,
        type: str | None = None,
        status: Literal["active", "all"] = "active",
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
    ) -> Page[Memory]:
        """See `Backend.memories`."""
        async with self._live(caller, conversation_id) as live:
            view = live.facts
            facts = view.facts(
                track and Track(track),
                as_of=as_of and local(as_of),
                valid_at=valid_at and local(valid_at),
                every=status == "all",
            )
            kept = sorted((f for f in facts if type in (None, f.type)), key=lambda f: f.fact_id)
            found = page(kept, paging, lambda f: f.fact_id)
            counts = shown.versions(view)
            results = [self._memory(live, fact, counts[fact.fact_id]) for fact in found.results]
            return Page(results=tuple(results), next_cursor=found.next_cursor)

    async def memory(self, caller: Caller, memory_id: str) -> Memory:
        """See `Backend.memory`."""
        async with self._memory_of(caller, memory_id) as (live, fact_id):
            return self._latest(live, fact_id)

    async def history(self, caller: Caller, memory_id: str) -> tuple[HistoryEntry, ...]:
        """See `Backend.history`."""
        async with self._memory_of(caller, memory_id) as (live, fact_id):
            book = live.facts.core if live.facts.core.knows(fact_id) else live.facts.active
            return shown.history(book.operations, fact_id, live.key)

    async def provenance(self, caller: Caller, memory_id: str) -> Provenance:
        """See `Backend.provenance`."""
        async with self._memory_of(caller, memory_id) as (live, fact_id):
            memory = self._latest(live, fact_id)
            rests_on = set(memory.message_ids)
            units = [
                s for s in shown.segments(live.facts, live.key, live.known) if rests_on & {*s.message_ids}
            ]
            threads = {s.trajectory_id for s in units}
            return Provenance(
                memory=memory,
                messages=shown.sources(memory.message_ids, live.known),
                segments=tuple(units),
                trajectories=tuple(t for t in self._threads(live) if t.id in threads),
                queries=memory.queries,
            )

    async def segments(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[SegmentOut]:
        """See `Backend.segments`."""
        async with self._live(caller, conversation_id) as live:
            return page(shown.segments(live.facts, live.key, live.known), paging, lambda s: s.id)

    async def trajectories(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[TrajectoryOut]:
        """See `Backend.trajectories`."""
        async with self._live(caller, conversation_id) as live:
            return page(self._threads(live), paging, lambda t: t.id)

    async def candidates(self, caller: Caller, conversation_id: str, paging: Paging) -> Page[Candidate]:
        """See `Backend.candidates`."""
        async with self._live(caller, conversation_id) as live:
            held = live.facts.candidates
            found = [
                shown.candidate_out(cluster, held.scores(i), live.key, self._config.memory.active)
                for i, cluster in enumerate(held.clusters)
                if cluster.statements
            ]
            return page(found, paging, lambda c: c.id)

    async def operation(self, caller: Caller, operation_id: str) -> Operation:
        """See `Backend.operation`."""
        async with self._operation_of(caller, operation_id) as live:
            return await live.operation(operation_id)

    async def usage(self, caller: Caller, *, since: datetime | None = None) -> TenantUsage:
        """See `Backend.usage`."""
        await self._accounts.write()
        return await self._store.usage(tenant_of(caller), since=since)

    async def audit(self, caller: Caller, paging: Paging) -> Page[AuditEntry]:
        """See `Backend.audit`."""
        before = key_of(paging.cursor)
        number = int(before) if before.isdecimal() else None
        found = await self._store.audit(tenant_of(caller), before=number, limit=paging.limit + 1)
        some = found[: paging.limit]
        following = cursor_of(str(some[-1][0])) if len(found) > len(some) else None
        return Page(results=tuple(entry for _, entry in some), next_cursor=following)
