"""Changing memories by hand, and erasing them."""

from __future__ import annotations

from memsif_ray.errors import Conflict
from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.service import shown
from memsif_ray.service.backend import Caller
from memsif_ray.service.intake import local
from memsif_ray.service.looking import Looking
from memsif_ray.service.models import Erased, Memory, MemoryChange, Successor
from memsif_ray.types import Fact


class Curating(Looking):
    """The part of a `Backend` with which a person corrects what is remembered."""

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
