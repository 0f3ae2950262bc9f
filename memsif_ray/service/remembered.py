"""The memory of one conversation and what of it is stored, kept in step."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from memsif_ray.errors import Conflict, MemsifError, NotFound, ServiceBusy, ServiceError
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.memory.tools import Tools
from memsif_ray.memory.view import MemoryView
from memsif_ray.service.counting import undeterred
from memsif_ray.service.intake import as_message
from memsif_ray.service.models import Operation
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.service.state import StateKeeper, restored
from memsif_ray.service.store import ConversationRow, MemoryStore, StateRow, StoredMessage

T = TypeVar("T")
RETRY_AFTER_S = 1.0


class Overtaken(MemsifError):
    """Another process stored a newer state of the conversation; what was done here is void."""


class Remembered:
    """A memory whose every change is stored before anyone can see it.

    Args:
        row: As the store has it.
        store: Of everything.
        tools: Models.
        config: Of the service.
    """

    def __init__(
        self, row: ConversationRow, *, store: MemoryStore, tools: Tools, config: ServiceConfig
    ) -> None:
        """Nothing is known until `load`."""
        self.row, self.tenant, self.key = row, row.tenant, row.key
        self.memory: ConversationMemory
        self.broken = False
        self._view: MemoryView
        self._keeper: StateKeeper
        self._revision = row.revision
        self._store, self._tools, self._config = store, tools, config
        self._writing, self._indexing = asyncio.Lock(), asyncio.Lock()

    async def view(self) -> MemoryView:
        """What is stored of memory now. It stays as it is, and a later call never gives an earlier one."""
        view = self._view
        if "index" not in vars(view.said):
            async with self._indexing:  # in a thread: for thousands of messages it takes a while
                await asyncio.to_thread(getattr, view.said, "index")
        return view

    @property
    def facts(self) -> MemoryView:
        """The same without its index, for what needs no ranking."""
        return self._view

    async def read(self) -> list[StoredMessage]:
        """Read what is stored; returns all messages, those included that memory does not cover yet.

        The revision is read first: whatever changes meanwhile makes the next save fail, and never the store.

        Raises:
            NotFound: When the conversation is gone.
            EmbedderMismatch: When its vectors are another embedder's.
        """
        row = await self._store.conversation(self.tenant, self.row.conversation_id)
        if row is None or row.key != self.key:
            raise NotFound(f"no conversation {self.row.conversation_id!r}")
        rows = await self._store.state(self.key)
        messages = await self._store.messages(self.key)
        self.memory, self._keeper = self._restored(rows, messages)
        self.row, self._revision = row, row.revision
        self._view = self.memory.view()
        return messages

    def _restored(
        self, rows: Sequence[StateRow], messages: Sequence[StoredMessage]
    ) -> tuple[ConversationMemory, StateKeeper]:
        name = self.row.conversation_id
        memory = ConversationMemory(name, config=self._config.memory, tools=undeterred(self._tools))
        plain = [as_message(m, name) for m in messages]
        return memory, restored(memory, rows, plain, model_id=self._tools.embedder.model_id)

    async def _write(self, change: Callable[[ConversationMemory], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(self._config.write_wait_s):
                await self._writing.acquire()
        except TimeoutError:
            raise ServiceBusy(
                "the conversation is being digested", "digesting", retry_after_s=RETRY_AFTER_S
            ) from None
        try:
            try:
                return await change(self.memory)
            finally:
                await self._save()
        finally:
            self._writing.release()

    async def _save(self, operations: Sequence[Operation] = ()) -> None:
        changes = self._keeper.changes(self.memory)
        if not (changes.put or changes.delete or operations):
            return
        try:
            self._revision = await self._store.save(
                self.key,
                revision=self._revision,
                put=changes.put,
                delete=changes.delete,
                operations=operations,
            )
        except Conflict as exc:
            raise Overtaken(str(exc)) from exc
        except ServiceError:
            self.broken = True
            raise
        self._keeper.done(changes)
        self._view = self.memory.view()
