"""One conversation while it is held in memory: what is stored, what is digested, what can be asked.

Messages are stored under `intake`, which is brief. Memory changes under `writing`, one piece at a time, and
each piece is stored before anyone can see it. Questions see `view`, which waits for nobody.
"""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from typing import TypeVar
from uuid import uuid4

from memsif_ray.errors import Conflict, ServiceBusy
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.service import ids
from memsif_ray.service.digesting import Digesting
from memsif_ray.service.intake import Draft, draft, request_digest
from memsif_ray.service.models import AuditEntry, IngestRequest, Operation, OperationStatus
from memsif_ray.service.remembered import RETRY_AFTER_S
from memsif_ray.service.store import StoredMessage

T = TypeVar("T")


class Live(Digesting):
    """A conversation in memory: messages come in, are digested, and memory is changed by hand.

    Attributes:
        users: How many requests are at work on it.
    """

    users = 0

    @property
    def busy(self) -> bool:
        """Would anything be lost or interrupted by letting go of it?"""
        return bool(self.users or self.queue or self._shielded or self._writing.locked())

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
                operation = self.operation_of(request, drafted, operation_id)
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

    def operation_of(self, request: IngestRequest, drafted: Draft, operation_id: str) -> Operation:
        """The operation that a request is, before it is digested."""
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

    async def write(self, change: Callable[[ConversationMemory], Awaitable[T]]) -> T:
        """Change memory and store that. When another process was faster, do it again on what that left.

        Raises:
            ServiceBusy: When a digestion takes too long to wait for, or the store failed.
        """
        return await self._shield(self._unless_overtaken(partial(self._write, change)))

    async def copy(self) -> tuple[ConversationMemory, list[StoredMessage]]:
        """Memory as it is stored, for trying something out, and the messages that it does not cover yet.

        A conversation that is not stored has no key, and nothing in it.
        """
        async with self.alone():
            rows = await self._store.state(self.key) if self.key else ()
            messages = list(self.messages)
        memory, _ = self._restored(rows, messages)
        return memory, messages[len(memory) :]

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Nothing is stored or changed meanwhile."""
        async with self._intake, self._writing:
            yield
