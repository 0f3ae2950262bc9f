"""The owner of all conversations that one process answers for: a `Backend` without Ray and without HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Literal
from uuid import uuid4

from memsif_ray.errors import Conflict
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.service import asking, bundles, ids, shown
from memsif_ray.service.backend import Caller, Load, Paging
from memsif_ray.service.counting import counted
from memsif_ray.service.desk import Desk, tenant_of
from memsif_ray.service.intake import local
from memsif_ray.service.models import (
    AnswerRequest,
    AnswerResult,
    AuditEntry,
    Bundle,
    Candidate,
    ConversationOut,
    Erased,
    HistoryEntry,
    IngestRequest,
    Memory,
    MemoryChange,
    Operation,
    OperationStatus,
    Page,
    Provenance,
    SearchRequest,
    SearchResult,
    SegmentOut,
    SourceMessage,
    Successor,
    TenantUsage,
    TrajectoryOut,
)
from memsif_ray.service.paging import cursor_of, key_of, page
from memsif_ray.service.store import ConversationRow
from memsif_ray.types import ChatRequest, Fact, Track


class Conversations(Desk):
    """Keeps conversations as `Backend` says.

    Use it from one event loop. Another process may own other conversations of the same store; should two own
    the same one, each save of theirs either builds on all earlier ones or is done again.

    Args:
        store: Where everything is.
        tools: Models; their calls are counted here, and nothing else of them is kept.
        config: Of the service.
        now: The clock, with a time zone.

    Raises:
        ConfigError: When the configured router cannot be used.
        EmbedderMismatch: When it was trained with another embedder.
    """

    async def resume(self, owns: Callable[[ConversationRow], bool] = lambda _row: True) -> int:
        """Take up writes that were stored but not digested when the last process ended.

        They are also taken up whenever somebody asks for their conversation.

        Args:
            owns: Which conversations are this process's.

        Returns:
            How many conversations have such writes.
        """
        rows = [row for row in await self._store.interrupted() if owns(row)]
        for row in rows:
            async with self._residents.using(row):
                pass
        return len(rows)

    async def ingest(
        self, caller: Caller, request: IngestRequest, *, idempotency_key: str | None = None
    ) -> Operation:
        """See `Backend.ingest`."""
        if request.dry_run:
            return await self._would_ingest(caller, request)
        row = self._residents.find(tenant_of(caller), request.conversation_id)
        row = row or await self._store.create(caller.tenant, request.conversation_id)
        async with self._used(caller, row) as live:
            entry = self._entry(caller, "ingest", target="")
            operation = await live.ingest(request, idempotency_key, audit=entry)
            return await live.finished(operation.id) if request.wait else operation

    async def search(self, caller: Caller, request: SearchRequest) -> SearchResult:
        """See `Backend.search`."""
        row = await self._row(caller, request.conversation_id)
        if row is None:
            return SearchResult(results=())
        async with self._used(caller, row) as live:
            with counted() as work:
                found, trace = await asking.search(
                    await self._scene(live),
                    request,
                    self._question(row, request.query),
                    config=self._config,
                    tools=self._tools,
                    router=self._router,
                )
            traced = tuple(trace) if "trace" in request.include else None
            return SearchResult(results=tuple(found), usage=work.usage, pending=live.pending, trace=traced)

    async def answer(self, caller: Caller, request: AnswerRequest) -> AnswerResult:
        """See `Backend.answer`. A failure to learn takes nothing from the answer; the next question may."""
        async with self._live(caller, request.conversation_id) as live:
            question = self._question(live.row, request.question, request.asked_at)
            promoted: tuple[str, ...] = ()
            with counted() as work:
                answer, context, evidence = await asking.answer(
                    await self._scene(live),
                    request,
                    question,
                    config=self._config,
                    tools=self._tools,
                    router=self._router,
                )
                if request.learn and answer.text is not None:
                    promoted = await self._learn(live, question, context)
            return AnswerResult(
                answer=answer.text,
                error=answer.error,
                evidence=tuple(evidence),
                sufficient=asking.sufficient(context),
                promoted=promoted,
                usage=work.usage,
                pending=live.pending,
            )

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

    async def change(
        self, caller: Caller, memory_id: str, change: MemoryChange, *, if_version: int | None = None
    ) -> Memory:
        """See `Backend.change`."""
        times = {
            name: time and local(time)
            for name in ("valid_from", "valid_to")
            if name in change.model_fields_set
            for time in [getattr(change, name)]
        }

        async def corrected(memory: ConversationMemory, fact_id: str) -> Fact:
            version = shown.versions(memory.view())[fact_id]
            if if_version not in (None, version):
                raise Conflict(f"{memory_id} has version {version}, not {if_version}")
            return await memory.correct(fact_id, self._today(), statement=change.text, **times)

        return await self._by_hand(caller, memory_id, "update", corrected)

    async def supersede(self, caller: Caller, memory_id: str, successor: Successor) -> Memory:
        """See `Backend.supersede`."""
        since = successor.valid_from and local(successor.valid_from)

        async def replaced(memory: ConversationMemory, fact_id: str) -> Fact:
            return await memory.replace(fact_id, self._today(), statement=successor.text, since=since)

        return await self._by_hand(caller, memory_id, "supersede", replaced)

    async def retract(self, caller: Caller, memory_id: str) -> Memory:
        """See `Backend.retract`."""

        async def retracted(memory: ConversationMemory, fact_id: str) -> Fact:
            return memory.retract(fact_id, self._today())

        return await self._by_hand(caller, memory_id, "retract", retracted)

    async def restore(self, caller: Caller, memory_id: str) -> Memory:
        """See `Backend.restore`."""

        async def reinstated(memory: ConversationMemory, fact_id: str) -> Fact:
            return memory.reinstate(fact_id, self._today())

        return await self._by_hand(caller, memory_id, "restore", reinstated)

    async def erase_memory(self, caller: Caller, memory_id: str, *, dry_run: bool = False) -> Erased:
        """See `Backend.erase_memory`."""
        async with self._memory_of(caller, memory_id) as (live, fact_id):
            if dry_run:
                return Erased(memories=1, dry_run=True)

            async def erased(memory: ConversationMemory) -> None:
                memory.erase(fact_id)

            await live.write(erased)
            await self._store.purge()
            await self._audit(caller, "erase", memory_id)
            return Erased(memories=1)

    async def erase_conversation(
        self, caller: Caller, conversation_id: str, *, dry_run: bool = False
    ) -> Erased:
        """See `Backend.erase_conversation`."""
        async with self._live(caller, conversation_id) as live:
            held = Erased(
                messages=len(live.messages), memories=len(live.facts.facts(every=True)), dry_run=dry_run
            )
            if not dry_run:
                async with live.alone():
                    await self._store.erase(live.key)
                    live.end()
                self._residents.drop(live)
                await self._audit(caller, "erase", live.key)  # not its name, which may say a lot
            return held

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

    async def cancel(self, caller: Caller, operation_id: str) -> Operation:
        """See `Backend.cancel`."""
        async with self._operation_of(caller, operation_id) as live:
            cancelled = await live.cancel(operation_id)
            await self._audit(caller, "cancel", operation_id)
            return cancelled

    async def retry(self, caller: Caller, operation_id: str) -> Operation:
        """See `Backend.retry`."""
        async with self._operation_of(caller, operation_id) as live:
            again = await live.retry(operation_id)
            await self._audit(caller, "retry", operation_id)
            return again

    async def export(self, caller: Caller, conversation_id: str) -> Bundle:
        """See `Backend.export`. What is being digested is exported as it was before."""
        async with self._live(caller, conversation_id) as live, live.alone():
            state = await self._store.state(live.key)
            return bundles.packed(live.row, live.messages, state, embedder=self._tools.embedder.model_id)

    async def import_(self, caller: Caller, bundle: Bundle) -> Operation:
        """See `Backend.import_`."""
        now = self._now()
        operation_id = ids.operation_id(bundle.key, uuid4().hex)
        messages, state, whole = bundles.unpacked(
            bundle, operation_id=operation_id, now=now, config=self._config.memory, tools=self._tools
        )
        operation = Operation(
            id=operation_id,
            kind="import",
            conversation_id=bundle.conversation_id,
            status=OperationStatus.DONE if whole else OperationStatus.PENDING,
            created_at=now,
            updated_at=now,
            accepted=len(messages),
            message_ids=tuple(m.message_id for m in messages),
        )
        row = ConversationRow(
            tenant_of(caller), bundle.conversation_id, bundle.key, 0, len(messages), now, now
        )
        await self._store.adopt(row, messages, state, operation)
        await self._audit(caller, "import", operation_id)
        async with self._used(caller, row):  # what was not digested there is digested here
            return operation

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

    async def load(self) -> Load:
        """How busy it is."""
        return Load(
            live_conversations=len(self._residents),
            queued=sum(live.pending for live in self._residents.all()),
            usage=self._accounts.total.usage,
        )

    async def check(self) -> None:
        """See `Backend.check`."""
        await self._store.ping()
        await self._tools.embedder.embed(["ready"])
        await self._tools.chat.complete(ChatRequest("probe", "Answer with one word.", "Ready?", max_tokens=1))

    async def close(self) -> None:
        """See `Backend.close`. Closes the store too."""
        await asyncio.gather(*(live.stopped() for live in self._residents.all()))
        await self._accounts.write()
        await self._store.close()
