"""A whole backend in a hundred lines: every message is a fact, and a search finds words. Nothing is faked:
what was accepted is there, what is erased is gone, and tenants cannot meet."""

from collections import defaultdict
from dataclasses import dataclass, field
from datetime import UTC, datetime

from memsif_ray.errors import Conflict, NotFound
from memsif_ray.service.backend import Load
from memsif_ray.service.models import (
    AnswerResult,
    AuditEntry,
    Bundle,
    Candidate,
    ConversationOut,
    Erased,
    Found,
    HistoryEntry,
    Memory,
    Operation,
    OperationStatus,
    Page,
    Provenance,
    SearchResult,
    SegmentOut,
    SourceMessage,
    TenantUsage,
    TrajectoryOut,
    Usage,
)
from memsif_ray.text import words

NOW = datetime(2024, 5, 1, tzinfo=UTC)


@dataclass
class Kept:
    """One conversation."""

    key: str
    messages: list[SourceMessage] = field(default_factory=list)
    memories: dict[str, list[Memory]] = field(default_factory=dict)
    candidates: list[Candidate] = field(default_factory=list)


class SmallBackend:
    """Implements `Backend`.

    Attributes:
        fault: Raised by every method from now on.
        pause: Waited for by every method.
        busy: What it says about its load, instead of the truth.
        asked: (method, caller) of every call.
    """

    def __init__(self):
        self.fault = None
        self.pause = None
        self.busy = None
        self.asked = []
        self.closed = False
        self.answers = "a reply"
        self._kept = {}
        self._operations = {}
        self._repeats = {}
        self._audit = defaultdict(list)
        self._keys = 0

    async def _enter(self, caller, method, target=""):
        self.asked.append((method, caller))
        if self.pause is not None:
            await self.pause.wait()
        if self.fault is not None:
            raise self.fault
        self._audit[caller.tenant].insert(
            0,
            AuditEntry(
                at=NOW, key_id=caller.key_id, request_id=caller.request_id, action=method, target=target
            ),
        )

    def _conversation(self, caller, conversation_id):
        found = self._kept.get((caller.tenant, conversation_id))
        if found is None:
            raise NotFound(f"there is no conversation {conversation_id!r}")
        return found

    def _versions(self, caller, memory_id):
        for (tenant, conversation_id), kept in self._kept.items():
            if tenant == caller.tenant and memory_id in kept.memories:
                return conversation_id, kept, kept.memories[memory_id]
        raise NotFound("there is no such memory")

    def _new(self, caller, conversation_id):
        found = self._kept.get((caller.tenant, conversation_id))
        if found is None:
            self._keys += 1
            found = self._kept[caller.tenant, conversation_id] = Kept(f"k{self._keys}")
        return found

    def _operation(self, caller, kind, conversation_id, status=OperationStatus.DONE, **more):
        operation = Operation(
            id=f"op_{len(self._operations)}",
            kind=kind,
            conversation_id=conversation_id,
            status=status,
            created_at=NOW,
            updated_at=NOW,
            **more,
        )
        self._operations[operation.id] = (caller.tenant, operation)
        return operation

    async def ingest(self, caller, request, *, idempotency_key=None):
        await self._enter(caller, "ingest", request.conversation_id)
        if idempotency_key and (caller.tenant, idempotency_key) in self._repeats:
            asked, operation = self._repeats[caller.tenant, idempotency_key]
            if asked != request:
                raise Conflict("this idempotency key belongs to another request")
            return operation
        operation = self._take(caller, request)
        if idempotency_key:
            self._repeats[caller.tenant, idempotency_key] = (request, operation)
        return operation

    def _take(self, caller, request):
        kept = self._kept.get((caller.tenant, request.conversation_id), Kept(""))
        known = {message.id: message.content for message in kept.messages}
        ids, new = [], []
        for place, message in enumerate(request.messages, len(kept.messages)):
            message_id = message.id or f"m{place}"
            ids.append(message_id)
            if known.get(message_id, message.content) != message.content:
                raise Conflict(f"message {message_id!r} is known with another text")
            if message_id not in known:
                new.append((message_id, message))
        counts = {"accepted": len(new), "duplicates": len(ids) - len(new), "message_ids": tuple(ids)}
        if request.dry_run:
            return Operation(
                id="",
                kind="ingest",
                conversation_id=request.conversation_id,
                status=OperationStatus.DONE,
                created_at=NOW,
                updated_at=NOW,
                **counts,
            )
        kept = self._new(caller, request.conversation_id)
        for message_id, message in new:
            self._add(kept, request.conversation_id, message_id, message)
        status = OperationStatus.DONE if request.wait else OperationStatus.PENDING
        return self._operation(caller, "ingest", request.conversation_id, status, **counts)

    def _add(self, kept, conversation_id, message_id, message):
        place = len(kept.messages)
        kept.messages.append(
            SourceMessage(
                id=message_id,
                position=place,
                session=1,
                role=message.role,
                name=message.name or message.role,
                content=message.content,
                timestamp=message.timestamp or NOW,
                metadata=message.metadata,
            )
        )
        if message.role == "user":
            memory_id = f"mem_{kept.key}_{place}"
            fact = Memory(
                id=memory_id,
                conversation_id=conversation_id,
                track="core",
                type="Statement",
                subject=message.name or "user",
                attribute="said",
                text=message.content,
                status="active",
                version=1,
                ingested_at=NOW,
                message_ids=(message_id,),
            )
            kept.memories[memory_id] = [fact]

    async def search(self, caller, request):
        await self._enter(caller, "search", request.conversation_id)
        kept = self._kept.get((caller.tenant, request.conversation_id), Kept(""))
        wanted = set(words(request.query))
        found = [
            Found(
                id=versions[-1].id,
                type="core",
                text=versions[-1].text,
                score=1.0,
                message_ids=versions[-1].message_ids,
            )
            for versions in kept.memories.values()
            if versions[-1].status == "active" and wanted & set(words(versions[-1].text))
        ]
        usage = Usage(prompt_tokens=3, embedded_texts=1)
        return SearchResult(results=tuple(found[: request.top_k or 10]), usage=usage)

    async def answer(self, caller, request):
        await self._enter(caller, "answer", request.conversation_id)
        kept = self._conversation(caller, request.conversation_id)
        return AnswerResult(
            answer=kept.messages[-1].content,
            evidence=(),
            sufficient=True,
            usage=Usage(prompt_tokens=7, completion_tokens=2, model_calls=1),
        )

    async def conversations(self, caller, paging):
        await self._enter(caller, "conversations")
        own = sorted(name for tenant, name in self._kept if tenant == caller.tenant)
        rows = [
            ConversationOut(
                conversation_id=name,
                messages=len(self._kept[caller.tenant, name].messages),
                created_at=NOW,
                updated_at=NOW,
            )
            for name in own
        ]
        return page(ConversationOut, rows, paging)

    async def messages(self, caller, conversation_id, paging):
        await self._enter(caller, "messages", conversation_id)
        return page(SourceMessage, self._conversation(caller, conversation_id).messages, paging)

    async def memories(self, caller, conversation_id, paging, **filters):
        await self._enter(caller, "memories", conversation_id)
        kept = self._conversation(caller, conversation_id)
        latest = [versions[-1] for versions in kept.memories.values()]
        if filters["status"] == "active":
            latest = [memory for memory in latest if memory.status == "active"]
        return page(Memory, latest, paging)

    async def memory(self, caller, memory_id):
        await self._enter(caller, "memory", memory_id)
        return self._versions(caller, memory_id)[2][-1]

    async def change(self, caller, memory_id, change, *, if_version=None):
        await self._enter(caller, "change", memory_id)
        versions = self._versions(caller, memory_id)[2]
        if if_version not in (None, versions[-1].version):
            raise Conflict(f"the memory has version {versions[-1].version}")
        return self._write(versions, **change.model_dump(exclude_unset=True))

    def _write(self, versions, **change):
        now = versions[-1]
        versions.append(now.model_copy(update={**change, "version": now.version + 1}))
        return versions[-1]

    async def supersede(self, caller, memory_id, successor):
        await self._enter(caller, "supersede", memory_id)
        _, kept, versions = self._versions(caller, memory_id)
        new = versions[-1].model_copy(update={"id": f"{memory_id}n", "text": successor.text, "version": 1})
        kept.memories[new.id] = [new]
        self._write(versions, status="superseded", replaced_by=new.id)
        return new

    async def retract(self, caller, memory_id):
        await self._enter(caller, "retract", memory_id)
        return self._write(self._versions(caller, memory_id)[2], status="retracted")

    async def restore(self, caller, memory_id):
        await self._enter(caller, "restore", memory_id)
        versions = self._versions(caller, memory_id)[2]
        if versions[-1].status != "retracted":
            raise Conflict("the memory is not retracted")
        return self._write(versions, status="active")

    async def erase_memory(self, caller, memory_id, *, dry_run=False):
        await self._enter(caller, "erase_memory", memory_id)
        _, kept, _ = self._versions(caller, memory_id)
        if not dry_run:
            del kept.memories[memory_id]
        return Erased(memories=1, dry_run=dry_run)

    async def erase_conversation(self, caller, conversation_id, *, dry_run=False):
        await self._enter(caller, "erase_conversation", conversation_id)
        kept = self._conversation(caller, conversation_id)
        if not dry_run:
            del self._kept[caller.tenant, conversation_id]
        return Erased(messages=len(kept.messages), memories=len(kept.memories), dry_run=dry_run)

    async def history(self, caller, memory_id):
        await self._enter(caller, "history", memory_id)
        return tuple(
            HistoryEntry(
                op="Add" if memory.version == 1 else "Update",
                text=memory.text,
                status=memory.status,
                at=NOW,
                decided_by="rule",
                reason="",
            )
            for memory in self._versions(caller, memory_id)[2]
        )

    async def provenance(self, caller, memory_id):
        await self._enter(caller, "provenance", memory_id)
        _, kept, versions = self._versions(caller, memory_id)
        ids = versions[-1].message_ids
        sources = tuple(message for message in kept.messages if message.id in ids)
        return Provenance(memory=versions[-1], messages=sources, segments=(), trajectories=(), queries=())

    async def segments(self, caller, conversation_id, paging):
        await self._enter(caller, "segments", conversation_id)
        self._conversation(caller, conversation_id)
        return page(SegmentOut, [], paging)

    async def trajectories(self, caller, conversation_id, paging):
        await self._enter(caller, "trajectories", conversation_id)
        self._conversation(caller, conversation_id)
        return page(TrajectoryOut, [], paging)

    async def candidates(self, caller, conversation_id, paging):
        await self._enter(caller, "candidates", conversation_id)
        return page(Candidate, self._conversation(caller, conversation_id).candidates, paging)

    def _own_operation(self, caller, operation_id):
        tenant, operation = self._operations.get(operation_id, ("", None))
        if tenant != caller.tenant:
            raise NotFound("there is no such operation")
        return operation

    async def operation(self, caller, operation_id):
        await self._enter(caller, "operation", operation_id)
        return self._own_operation(caller, operation_id)

    async def cancel(self, caller, operation_id):
        await self._enter(caller, "cancel", operation_id)
        operation = self._own_operation(caller, operation_id)
        if operation.status is not OperationStatus.PENDING:
            raise Conflict(f"the operation is {operation.status}")
        operation = operation.model_copy(update={"status": OperationStatus.CANCELLED})
        self._operations[operation_id] = (caller.tenant, operation)
        return operation

    async def retry(self, caller, operation_id):
        await self._enter(caller, "retry", operation_id)
        operation = self._own_operation(caller, operation_id)
        raise Conflict(f"the operation is {operation.status}")

    async def export(self, caller, conversation_id):
        await self._enter(caller, "export", conversation_id)
        kept = self._conversation(caller, conversation_id)
        return Bundle(
            conversation_id=conversation_id,
            key=kept.key,
            embedder="none",
            messages=tuple(kept.messages),
            state={},
        )

    async def import_(self, caller, bundle):
        await self._enter(caller, "import", bundle.conversation_id)
        if (caller.tenant, bundle.conversation_id) in self._kept:
            raise Conflict("there is such a conversation")
        self._new(caller, bundle.conversation_id).messages.extend(bundle.messages)
        return self._operation(caller, "import", bundle.conversation_id, accepted=len(bundle.messages))

    async def usage(self, caller, *, since=None):
        await self._enter(caller, "usage")
        requests = len(self._audit[caller.tenant])
        return TenantUsage(since=since, requests=requests, **Usage().model_dump())

    async def audit(self, caller, paging):
        await self._enter(caller, "audit")
        return page(AuditEntry, self._audit[caller.tenant], paging)

    async def load(self):
        return self.busy or Load(
            live_conversations=len(self._kept), queued=0, usage=Usage(prompt_tokens=11, model_calls=4)
        )

    async def check(self):
        self.asked.append(("check", None))
        if self.fault is not None:
            raise self.fault

    async def close(self):
        self.closed = True


def page(item, rows, paging):
    """Cursors are places in the list, as text."""
    start = int(paging.cursor) if paging.cursor and paging.cursor.isdecimal() else 0
    stop = start + paging.limit
    return Page[item](results=tuple(rows[start:stop]), next_cursor=str(stop) if stop < len(rows) else None)
