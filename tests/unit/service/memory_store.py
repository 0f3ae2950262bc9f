"""A `MemoryStore` that keeps everything in dictionaries, and every promise of the Protocol."""

import asyncio
from dataclasses import replace

from memsif_ray.errors import Conflict, ServiceBusy
from memsif_ray.service.models import OperationStatus, TenantUsage, Usage
from memsif_ray.service.store import Accepted, ConversationRow

_UNFINISHED = (OperationStatus.PENDING, OperationStatus.RUNNING)


class InMemoryStore:
    """Each call is one transaction: it gives way first, then does everything or nothing.

    Attributes:
        calls: Names of methods called, in order.
        broken: While true, every call fails.
    """

    def __init__(self, now):
        self._now = now
        self.rows, self.said, self.kept, self.operations = {}, {}, {}, {}
        self.keys, self.accounts, self.log = {}, [], []
        self.calls, self.broken, self.next_key = [], False, 0

    async def _begin(self, name):
        self.calls.append(name)
        await asyncio.sleep(0)
        if self.broken:
            raise ServiceBusy("the database is gone", retry_after_s=1.0)

    def _row_of(self, key):
        return next((row for row in self.rows.values() if row.key == key), None)

    async def conversation(self, tenant, conversation_id):
        await self._begin("conversation")
        return self.rows.get((tenant, conversation_id))

    async def conversation_of_key(self, tenant, key):
        await self._begin("conversation_of_key")
        row = self._row_of(key)
        return row if row is not None and row.tenant == tenant else None

    async def conversations(self, tenant, *, after, limit):
        await self._begin("conversations")
        return sorted(
            (r for r in self.rows.values() if r.tenant == tenant and r.conversation_id > after),
            key=lambda r: r.conversation_id,
        )[:limit]

    async def create(self, tenant, conversation_id):
        await self._begin("create")
        if (tenant, conversation_id) not in self.rows:
            self.next_key += 1
            row = ConversationRow(
                tenant, conversation_id, f"k{self.next_key:05d}", 0, 0, self._now(), self._now()
            )
            self.rows[tenant, conversation_id] = row
            self.said[row.key], self.kept[row.key] = [], {}
        return self.rows[tenant, conversation_id]

    async def accept(self, key, messages, operation, *, idempotency=None, audit=None):
        await self._begin("accept")
        row = self._row_of(key)
        if row is None:
            raise Conflict("gone")
        if idempotency is not None and (key, idempotency[0]) in self.keys:
            digest, earlier = self.keys[key, idempotency[0]]
            if digest != idempotency[1]:
                raise Conflict("the idempotency key was used for another request")
            self._note(row.tenant, audit, earlier)
            return Accepted(self.operations[earlier], True)
        taken = {m.message_id for m in self.said[key]} | {m.position for m in self.said[key]}
        if any(m.message_id in taken or m.position in taken for m in messages):
            raise Conflict("id or position taken")
        self.said[key].extend(messages)
        self.operations[operation.id] = operation
        if idempotency is not None:
            self.keys[key, idempotency[0]] = (idempotency[1], operation.id)
        self.rows[row.tenant, row.conversation_id] = replace(row, messages=row.messages + len(messages))
        self._note(row.tenant, audit, operation.id)
        return Accepted(operation, False)

    def _note(self, tenant, audit, target):
        if audit is not None:
            self.log.append((tenant, audit.model_copy(update={"target": target})))

    async def messages(self, key, *, after=-1, limit=None):
        await self._begin("messages")
        found = sorted((m for m in self.said.get(key, ()) if m.position > after), key=lambda m: m.position)
        return found[:limit]

    async def state(self, key):
        await self._begin("state")
        return list(self.kept.get(key, {}).values())

    async def save(self, key, *, revision, put=(), delete=(), operations=()):
        await self._begin("save")
        row = self._row_of(key)
        if row is None or row.revision != revision:
            raise Conflict("another revision")
        for name in delete:
            self.kept[key].pop(tuple(name), None)
        self.kept[key].update({(one.table, one.key): one for one in put})
        self.operations.update({operation.id: operation for operation in operations})
        self.rows[row.tenant, row.conversation_id] = replace(row, revision=revision + 1)
        return revision + 1

    async def operation(self, tenant, operation_id):
        await self._begin("operation")
        found = self.operations.get(operation_id)
        mine = found is not None and self._row_of(operation_id.split("_")[1])
        return found if mine and mine.tenant == tenant else None

    async def put_operation(self, operation):
        await self._begin("put_operation")
        if operation.id not in self.operations:
            raise Conflict("gone")
        self.operations[operation.id] = operation

    async def unfinished(self, key=None):
        await self._begin("unfinished")
        return [
            o
            for o in self.operations.values()
            if o.status in _UNFINISHED and key in (None, o.id.split("_")[1])
        ]

    async def failed(self, key):
        await self._begin("failed")
        return [o for o in self.operations.values() if o.status == "failed" and o.id.split("_")[1] == key]

    async def interrupted(self):
        await self._begin("interrupted")
        keys = dict.fromkeys(o.id.split("_")[1] for o in self.operations.values() if o.status in _UNFINISHED)
        return [self._row_of(key) for key in keys]

    async def withdraw(self, operation):
        await self._begin("withdraw")
        if self.operations[operation.id].status is not OperationStatus.PENDING:
            raise Conflict("has begun")
        key = operation.id.split("_")[1]
        self.said[key] = [m for m in self.said[key] if m.operation_id != operation.id]
        self.operations[operation.id] = operation

    async def erase(self, key):
        await self._begin("erase")
        row = self._row_of(key)
        if row is not None:
            del self.rows[row.tenant, row.conversation_id], self.said[key], self.kept[key]
            self.operations = {i: o for i, o in self.operations.items() if i.split("_")[1] != key}
            self.keys = {name: value for name, value in self.keys.items() if name[0] != key}

    async def purge(self):
        await self._begin("purge")

    async def adopt(self, row, messages, state, operation):
        await self._begin("adopt")
        if (row.tenant, row.conversation_id) in self.rows or self._row_of(row.key) is not None:
            raise Conflict("id or key taken")
        self.rows[row.tenant, row.conversation_id] = row
        self.said[row.key] = list(messages)
        self.kept[row.key] = {(one.table, one.key): one for one in state}
        self.operations[operation.id] = operation

    async def add_usage(self, tenant, at, usage, *, requests=1):
        await self._begin("add_usage")
        self.accounts.append((tenant, at, usage, requests))

    async def usage(self, tenant, *, since=None):
        await self._begin("usage")
        mine = [(u, n) for t, at, u, n in self.accounts if t == tenant and (since is None or at >= since)]
        sums = {name: sum(getattr(u, name) for u, _ in mine) for name in Usage.model_fields}
        return TenantUsage(since=since, requests=sum(n for _, n in mine), **sums)

    async def add_audit(self, tenant, entry):
        await self._begin("add_audit")
        self.log.append((tenant, entry))

    async def audit(self, tenant, *, before, limit):
        await self._begin("audit")
        numbered = [(i, e) for i, (t, e) in enumerate(self.log) if t == tenant]
        return [pair for pair in reversed(numbered) if before is None or pair[0] < before][:limit]

    async def ping(self):
        await self._begin("ping")

    async def close(self):
        await self._begin("close")
