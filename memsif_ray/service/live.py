"""One conversation while it is held in memory: what is stored, what is digested, what can be asked.

Messages are stored under `intake`, which is brief. Memory changes under `writing`, one piece at a time, and
each piece is stored before anyone can see it. Questions see `view`, which waits for nobody.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from datetime import datetime
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

from memsif_ray.errors import Conflict, MemsifError, NotFound, ServiceBusy, ServiceError
from memsif_ray.logs import without_words
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.memory.tools import Tools
from memsif_ray.service import ids
from memsif_ray.service.counting import Counter, counted
from memsif_ray.service.intake import Draft, as_message, draft, request_digest
from memsif_ray.service.models import AuditEntry, IngestRequest, Operation, OperationStatus
from memsif_ray.service.remembered import RETRY_AFTER_S, Overtaken, Remembered
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.service.store import ConversationRow, MemoryStore, StoredMessage

T = TypeVar("T")
LOGGER = logging.getLogger(__name__)
_TRIES = 3
"""Times that work is begun anew because somebody else changed the conversation."""

_HEAD_START_S = 0.002
"""For acknowledgements on their way out through the same event loop, which digestion would hold up."""


class Live(Remembered):
    """A conversation in memory: messages come in, wait their turn, and are digested.

    Args:
        row: As the store has it.
        store: Of everything.
        tools: Models.
        config: Of the service.
        now: The clock, for times of arrival.
        slots: Bounds how many conversations are digested side by side.
        account: Told of model work that no request waits for.
    """

    def __init__(
        self,
        row: ConversationRow,
        *,
        store: MemoryStore,
        tools: Tools,
        config: ServiceConfig,
        now: Callable[[], datetime],
        slots: asyncio.Semaphore,
        account: Callable[[str, Counter], None],
    ) -> None:
        """Nothing is known until `load`."""
        super().__init__(row, store=store, tools=tools, config=config)
        self.messages: list[StoredMessage] = []
        self.known: dict[str, StoredMessage] = {}
        self.queue: deque[Operation] = deque()
        self.users = 0
        self._now, self._slots, self._account = now, slots, account
        self._intake = asyncio.Lock()
        self._worker: asyncio.Task[None] | None = None
        self._running = ""
        self._failed: set[str] = set()
        self._stopping = False
        self._waiting: dict[str, asyncio.Future[Operation]] = {}
        self._shielded: set[asyncio.Task[Any]] = set()

    async def load(self) -> None:
        """Read what is stored, and go on digesting where the last owner stopped; errors as of `read`."""
        self.messages = await self.read()
        self.known = {m.message_id: m for m in self.messages}
        self._failed = {o.id for o in await self._store.failed(self.key)}
        await self._take_up()

    @property
    def pending(self) -> int:
        """Writes that are stored but not digested."""
        return len(self.queue)

    @property
    def busy(self) -> bool:
        """Would anything be lost or interrupted by letting go of it?"""
        return bool(self.users or self.queue or self._shielded or self._writing.locked())

    # -- storing messages

    async def ingest(
        self, request: IngestRequest, idempotency_key: str | None, *, audit: AuditEntry
    ) -> Operation:
        """Store the messages of a request and line them up for digestion.

        Args:
            request: What to remember.
            idempotency_key: Of the request, if it has one.
            audit: Stored with them; its target becomes the operation.

        Raises:
            Conflict: When an id or the idempotency key is used for something else.
            ServiceBusy: When too much waits for digestion already.
        """
        if len(self.queue) >= self._config.max_queued:
            raise ServiceBusy(
                f"{len(self.queue)} writes wait for digestion", "queue_full", retry_after_s=RETRY_AFTER_S
            )
        # A client that goes away in the middle must not leave messages that nobody knows to be stored.
        return await self._shield(self._ingest(request, idempotency_key, audit))

    def draft(self, request: IngestRequest, operation_id: str) -> Draft:
        """What a request would add; see `intake.draft`."""
        return draft(request, self.messages, self.known, operation_id=operation_id, now=self._now())

    async def _ingest(
        self, request: IngestRequest, idempotency_key: str | None, audit: AuditEntry
    ) -> Operation:
        idempotency = None if idempotency_key is None else (idempotency_key, request_digest(request))
        async with self._intake:
            while True:
                operation_id = ids.operation_id(self.key, uuid4().hex)
                drafted = self.draft(request, operation_id)
                operation = self._operation(operation_id, request, drafted)
                try:
                    accepted = await self._store.accept(
                        self.key, drafted.new, operation, idempotency=idempotency, audit=audit
                    )
                    break
                except Conflict:
                    if not await self._catch_up():
                        raise
            if not accepted.repeated:
                self._note(drafted.new)
                self._line_up(operation)
        return accepted.operation

    def _operation(self, operation_id: str, request: IngestRequest, drafted: Draft) -> Operation:
        now = self._now()
        return Operation(
            id=operation_id,
            kind="ingest",
            conversation_id=self.row.conversation_id,
            status=OperationStatus.PENDING,
            created_at=now,
            updated_at=now,
            accepted=len(drafted.new),
            duplicates=len(request.messages) - len(drafted.new),
            message_ids=drafted.ids,
        )

    def _note(self, new: Sequence[StoredMessage]) -> None:
        self.messages.extend(new)
        self.known.update((m.message_id, m) for m in new)

    async def _catch_up(self) -> bool:
        """Learn what another process has stored; False when there is nothing new."""
        last = self.messages[-1].position if self.messages else -1
        newer = await self._store.messages(self.key, after=last)
        self._note(newer)
        await self._take_up()
        return bool(newer)

    # -- digesting them

    async def finished(self, operation_id: str) -> Operation:
        """The operation when it is no longer pending.

        Raises:
            ServiceBusy: When the store failed meanwhile; the write is stored, and is digested later.
        """
        if any(o.id == operation_id for o in self.queue):
            waiting = self._waiting.setdefault(operation_id, asyncio.get_running_loop().create_future())
            return await asyncio.shield(waiting)
        return await self.operation(operation_id)

    async def operation(self, operation_id: str) -> Operation:
        """As it stands.

        Raises:
            NotFound: When there is none of that id.
        """
        operation = await self._store.operation(self.tenant, operation_id)
        if operation is None or ids.read_operation_id(operation.id) != self.key:
            raise NotFound(f"no operation {operation_id!r}")
        if operation_id == self._running and operation.status is OperationStatus.PENDING:
            return operation.model_copy(update={"status": OperationStatus.RUNNING})
        return operation

    async def cancel(self, operation_id: str) -> Operation:
        """Take back a write that is not being digested yet; see `Backend.cancel`."""
        return await self._shield(self._cancel(operation_id))

    async def _cancel(self, operation_id: str) -> Operation:
        async with self._intake:
            operation = await self.operation(operation_id)
            if operation_id == self._running or operation.status is not OperationStatus.PENDING:
                raise Conflict(f"operation {operation_id!r} has begun")
            # Out of the queue before anything is awaited, so that its turn cannot come meanwhile.
            self.queue = deque(o for o in self.queue if o.id != operation_id)
            cancelled = self._changed(operation, OperationStatus.CANCELLED)
            await self._store.withdraw(cancelled)
            self.messages = [m for m in self.messages if m.operation_id != operation_id]
            self.known = {m.message_id: m for m in self.messages}
            self._tell(cancelled)
            return cancelled

    async def retry(self, operation_id: str) -> Operation:
        """Line up a failed write once more; see `Backend.retry`."""
        operation = await self.operation(operation_id)
        if operation.status is not OperationStatus.FAILED:
            raise Conflict(f"operation {operation_id!r} is {operation.status}, not failed")
        again = self._changed(operation, OperationStatus.PENDING)
        await self._store.put_operation(again)
        self._line_up(again)
        return again

    def _line_up(self, operation: Operation) -> None:
        self.queue.append(operation)
        if self._worker is None and not self._stopping:
            # In a context of its own: its work is nobody's request.
            self._worker = asyncio.create_task(self._drain(), context=Context())
            self._worker.add_done_callback(self._drained)

    async def _take_up(self) -> None:
        waiting = {o.id for o in self.queue}
        for operation in await self._store.unfinished(self.key):
            if operation.id not in waiting:
                self._line_up(operation)

    async def _drain(self) -> None:
        await asyncio.sleep(_HEAD_START_S)
        while self.queue and not self._stopping:
            async with self._slots:
                if not self.queue:
                    return
                operation = self.queue[0]
                self._running = operation.id
                with counted() as work:
                    try:
                        ended = await self._unless_overtaken(partial(self._digest, operation))
                    finally:
                        self._running = ""
                        self._account(self.tenant, work)
                self.queue.popleft()
                self._tell(ended)

    def _drained(self, worker: asyncio.Task[None]) -> None:
        """Whatever ended the worker, nobody waits for ever."""
        self._worker = None
        failure = None if worker.cancelled() else worker.exception()
        known = failure if isinstance(failure, MemsifError) else None
        if failure is not None:
            self.broken = True  # what is held may be ahead of what is stored: the next to ask loads it anew
            LOGGER.error("digestion stopped", extra={"conversation": self.key, **without_words(failure)})
        if failure is None and self.queue and not self._stopping:
            self._line_up(self.queue.pop())
        elif self.queue:
            self._abandon(known or ServiceBusy("digestion was stopped", retry_after_s=RETRY_AFTER_S))

    def _abandon(self, reason: MemsifError) -> None:
        for waiting in self._waiting.values():
            waiting.set_exception(reason)
            waiting.exception()  # looked at here: there may be nobody else
        self._waiting.clear()
        self.queue.clear()

    def _tell(self, operation: Operation) -> None:
        waiting = self._waiting.pop(operation.id, None)
        if waiting is not None:
            waiting.set_result(operation)

    async def _digest(self, operation: Operation) -> Operation:
        """Take in its messages and those before it, piece by piece, each piece stored before the next."""
        stop = max((i for i, m in enumerate(self.messages, 1) if m.operation_id == operation.id), default=0)
        pending = self.messages[len(self.memory) : stop]
        texts = [as_message(m, self.row.conversation_id) for m in pending]
        for start in range(0, max(1, len(texts)), self._config.piece):
            rest = start + self._config.piece
            last = rest >= len(texts)
            async with self._writing:
                try:
                    await self.memory.add(texts[start:rest], following=texts[rest:])
                    if last and self._config.prompt_facts:
                        await self.memory.settle()
                except ServiceError as exc:
                    about = {"operation": operation.id, "error_code": exc.code, **without_words(exc)}
                    LOGGER.warning("digestion failed", extra=about)
                    failed = self._changed(operation, OperationStatus.FAILED, str(exc))
                    await self._save([failed])
                    self._failed.add(failed.id)
                    return failed
                done = [self._changed(operation, OperationStatus.DONE)] if last else []
                await self._save([*done, *(await self._made_good(pending, operation) if last else ())])
        return done[0]

    async def _made_good(self, digested: Sequence[StoredMessage], by: Operation) -> list[Operation]:
        """Earlier writes that had failed, and whose messages are digested now."""
        names = {*self._failed, *(m.operation_id for m in digested)} - {by.id}
        self._failed.clear()
        found = [await self._store.operation(self.tenant, name) for name in sorted(names)]
        failed = [o for o in found if o is not None and o.status is OperationStatus.FAILED]
        return [self._changed(o, OperationStatus.DONE) for o in failed]

    # -- changing memory

    async def write(self, change: Callable[[ConversationMemory], Awaitable[T]]) -> T:
        """Change memory and store that. When another process was faster, do it again on what that left.

        Raises:
            ServiceBusy: When a digestion takes too long to wait for, or the store failed.
        """
        return await self._shield(self._unless_overtaken(partial(self._write, change)))

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Nothing is stored or changed meanwhile."""
        async with self._intake, self._writing:
            yield

    def end(self) -> None:
        """It is no more: whoever waits learns that it is gone."""
        self._stopping = self.broken = True
        self._abandon(NotFound(f"no conversation {self.row.conversation_id!r}"))

    async def stopped(self) -> None:
        """Wait until what has begun is done; what waits stays stored as pending."""
        self._stopping = True
        begun = [task for task in (self._worker, *self._shielded) if task is not None]
        await asyncio.gather(*begun, return_exceptions=True)

    async def _unless_overtaken(self, work: Callable[[], Awaitable[T]]) -> T:
        for _ in range(_TRIES):
            try:
                return await work()
            except Overtaken:
                async with self._intake, self._writing:
                    await self.load()
        raise ServiceBusy("somebody else keeps changing the conversation", retry_after_s=RETRY_AFTER_S)

    async def _shield(self, work: Coroutine[Any, Any, T]) -> T:
        """Go on with it even when the one who asked has gone."""
        task = asyncio.create_task(work)
        self._shielded.add(task)
        task.add_done_callback(self._shielded.discard)
        return await asyncio.shield(task)

    def _changed(self, operation: Operation, status: OperationStatus, error: str = "") -> Operation:
        return operation.model_copy(update={"status": status, "error": error, "updated_at": self._now()})
