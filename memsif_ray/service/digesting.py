"""The line of writes that are stored and not digested yet, and the one worker that digests them."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from contextvars import Context
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from memsif_ray.errors import MemsifError, NotFound, ServiceBusy, ServiceError
from memsif_ray.logs import without_words
from memsif_ray.memory.tools import Tools
from memsif_ray.service import ids
from memsif_ray.service.counting import Counter, counted
from memsif_ray.service.intake import as_message
from memsif_ray.service.models import Operation, OperationStatus
from memsif_ray.service.remembered import RETRY_AFTER_S, Overtaken, Remembered
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.service.store import ConversationRow, MemoryStore, StoredMessage

T = TypeVar("T")
LOGGER = logging.getLogger(__name__)
_TRIES = 3
"""Times that work is begun anew because somebody else changed the conversation."""
_HEAD_START_S = 0.002
"""For acknowledgements on their way out through the same event loop, which digestion would hold up."""


class Digesting(Remembered):
    """A memory with stored messages that wait their turn; each write of them is an operation.

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

    def end(self) -> None:
        """It is no more: whoever waits learns that it is gone."""
        self._stopping = self.broken = True
        self._abandon(NotFound(f"no conversation {self.row.conversation_id!r}"))

    async def stopped(self) -> None:
        """Wait until what has begun is done; what waits stays stored as pending."""
        self._stopping = True
        begun = [task for task in (self._worker, *self._shielded) if task is not None]
        await asyncio.gather(*begun, return_exceptions=True)

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
