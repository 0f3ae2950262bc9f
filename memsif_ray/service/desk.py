"""What every request needs: the caller's conversation, loaded; counted work; an entry in the audit log."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from datetime import datetime, timedelta
from uuid import uuid4

from memsif_ray.errors import DataError, NotFound, ServiceError
from memsif_ray.logs import without_words
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.memory.tools import Tools
from memsif_ray.packing.policy import router_of
from memsif_ray.service import ids, shown
from memsif_ray.service.accounts import Accounts
from memsif_ray.service.asking import Scene
from memsif_ray.service.backend import Caller
from memsif_ray.service.counting import counted, counting
from memsif_ray.service.intake import local
from memsif_ray.service.live import Live
from memsif_ray.service.models import (
    AuditEntry,
    IngestRequest,
    Memory,
    Operation,
    OperationStatus,
    TrajectoryOut,
)
from memsif_ray.service.residents import Residents
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.service.store import ConversationRow, MemoryStore
from memsif_ray.service.trying import would_write
from memsif_ray.types import Category, Context, Fact, Question, Track

LOGGER = logging.getLogger(__name__)
ByHand = Callable[[ConversationMemory, str], Awaitable[Fact]]
"""A person's change of the fact of that id."""


class Desk:
    """Finds, loads and counts for `Conversations`; its arguments are described there."""

    def __init__(
        self, store: MemoryStore, tools: Tools, config: ServiceConfig, now: Callable[[], datetime]
    ) -> None:
        """Nothing is loaded before somebody asks for it."""
        self._store, self._config, self._now = store, config, now
        self._tools = counting(tools)
        self._router = router_of(config.packing("auto", 1), embedder=tools.embedder.model_id)
        self._accounts = Accounts(store, now)
        self._slots = asyncio.Semaphore(config.digests_in_flight)
        self._residents = Residents(
            self._made, now=now, max_live=config.max_live, idle=timedelta(seconds=config.idle_s)
        )

    def _made(self, row: ConversationRow) -> Live:
        return Live(
            row,
            store=self._store,
            tools=self._tools,
            config=self._config,
            now=self._now,
            slots=self._slots,
            account=self._accounts.add,
        )

    # -- the caller's conversation

    async def _row(self, caller: Caller, conversation_id: str) -> ConversationRow | None:
        held = self._residents.find(tenant_of(caller), conversation_id)
        return held or await self._store.conversation(caller.tenant, conversation_id)

    @asynccontextmanager
    async def _used(self, caller: Caller, row: ConversationRow) -> AsyncIterator[Live]:
        """The conversation, loaded. What models do meanwhile is booked on the caller."""
        with self._booked(caller):
            async with self._residents.using(row) as live:
                yield live

    @contextmanager
    def _booked(self, caller: Caller) -> Iterator[None]:
        with counted() as work:
            try:
                yield
            finally:
                self._accounts.add(caller.tenant, work, requests=1)
        self._accounts.write_soon()

    @asynccontextmanager
    async def _live(self, caller: Caller, conversation_id: str) -> AsyncIterator[Live]:
        row = await self._row(caller, conversation_id)
        if row is None:
            raise NotFound(f"no conversation {conversation_id!r}")
        async with self._used(caller, row) as live:
            yield live

    @asynccontextmanager
    async def _keyed(self, caller: Caller, key: str, what: str) -> AsyncIterator[Live]:
        row = self._residents.find_key(tenant_of(caller), key)
        row = row or await self._store.conversation_of_key(caller.tenant, key)
        if row is None:  # in the same words as for an id that nobody has
            raise NotFound(f"no {what}")
        async with self._used(caller, row) as live:
            yield live

    @asynccontextmanager
    async def _memory_of(self, caller: Caller, memory_id: str) -> AsyncIterator[tuple[Live, str]]:
        """The conversation of a memory, and the fact's id in it."""
        key, fact_id = ids.read_memory_id(memory_id)
        async with self._keyed(caller, key, f"memory {memory_id!r}") as live:
            if not (live.facts.core.knows(fact_id) or live.facts.active.knows(fact_id)):
                raise NotFound(f"no memory {memory_id!r}")
            yield live, fact_id

    @asynccontextmanager
    async def _operation_of(self, caller: Caller, operation_id: str) -> AsyncIterator[Live]:
        key = ids.read_operation_id(operation_id)
        async with self._keyed(caller, key, f"operation {operation_id!r}") as live:
            yield live

    async def _would_ingest(self, caller: Caller, request: IngestRequest) -> Operation:
        """The operation that an ingest would be; nothing is stored, so it has no id."""
        row = await self._row(caller, request.conversation_id)
        if row is not None:
            async with self._used(caller, row) as live:
                return await self._tried(live, request)
        now = self._now()
        with self._booked(caller):
            unknown = ConversationRow(tenant_of(caller), request.conversation_id, "", 0, 0, now, now)
            return await self._tried(self._made(unknown), request)

    async def _tried(self, live: Live, request: IngestRequest) -> Operation:
        drafted = live.draft(request, "")
        written: tuple[Memory, ...] = ()
        if request.wait:
            async with self._slots:
                written = await would_write(live, drafted, settle=self._config.prompt_facts)
        would = live.operation_of(request, drafted, "")
        return would.model_copy(update={"status": OperationStatus.DONE, "memories": written})

    # -- memory

    async def _scene(self, live: Live) -> Scene:
        return Scene(live.key, await live.view(), live.known)

    def _question(self, row: ConversationRow, text: str, asked_at: datetime | None = None) -> Question:
        at = self._today() if asked_at is None else local(asked_at)
        return Question(f"q_{uuid4().hex[:16]}", row.conversation_id, 0, text, Category.SINGLE_HOP, at)

    async def _learn(self, live: Live, question: Question, context: Context) -> tuple[str, ...]:
        """Ids of the memories that the question brought about."""
        before = {f.fact_id for f in live.facts.facts(Track.ACTIVE)}
        try:
            await live.write(lambda memory: memory.learn(question, context))
        except ServiceError as exc:
            LOGGER.warning(
                "nothing was learnt from a question", extra={"conversation": live.key, **without_words(exc)}
            )
        after = [f.fact_id for f in live.facts.facts(Track.ACTIVE)]
        return tuple(ids.memory_id(live.key, fact_id) for fact_id in after if fact_id not in before)

    async def _by_hand(self, caller: Caller, memory_id: str, action: str, change: ByHand) -> Memory:
        async with self._memory_of(caller, memory_id) as (live, fact_id):
            fact = await live.write(lambda memory: change(memory, fact_id))
            await self._audit(caller, action, memory_id)
            return self._latest(live, fact.fact_id)

    def _latest(self, live: Live, fact_id: str) -> Memory:
        view = live.facts
        book = view.core if view.core.knows(fact_id) else view.active
        return self._memory(live, book.get(fact_id), shown.versions(view)[fact_id])

    def _memory(self, live: Live, fact: Fact, version: int) -> Memory:
        queries = {
            question: text
            for cluster in live.facts.candidates.clusters
            if fact.query_ids and cluster.promoted_fact_id == fact.fact_id
            for question, text in zip(cluster.query_ids, cluster.queries, strict=True)
        }
        return shown.memory_out(fact, live.row, version=version, queries=queries)

    def _threads(self, live: Live) -> list[TrajectoryOut]:
        return [shown.trajectory_out(t, live.key) for t in live.facts.said.trajectories]

    # -- books

    def _today(self) -> datetime:
        return local(self._now())

    def _entry(self, caller: Caller, action: str, *, target: str) -> AuditEntry:
        return AuditEntry(
            at=self._now(),
            key_id=caller.key_id,
            request_id=caller.request_id,
            action=action,
            target=target,
        )

    async def _audit(self, caller: Caller, action: str, target: str) -> None:
        await self._store.add_audit(caller.tenant, self._entry(caller, action, target=target))


def tenant_of(caller: Caller) -> str:
    """The caller's tenant.

    Raises:
        DataError: When there is none, or it might mean several: no scope is no access.
    """
    if not caller.tenant.strip() or "*" in caller.tenant:
        raise DataError("a request must belong to one tenant")
    return caller.tenant
