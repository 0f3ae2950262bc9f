"""A backend that keeps everything in dictionaries and makes one memory of each message, word for word."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from memsif_ray.errors import Conflict, NotFound
from memsif_ray.service import models
from memsif_ray.service.backend import Caller, Paging

T = TypeVar("T")
START = datetime(2024, 5, 20, 18, tzinfo=UTC)


@dataclass
class Kept:
    """One conversation."""

    messages: list[models.SourceMessage] = field(default_factory=list)
    memories: dict[str, models.Memory] = field(default_factory=dict)
    history: dict[str, list[models.HistoryEntry]] = field(default_factory=dict)


class PlainBackend:
    """Implements `Backend`."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}
        self.operations: dict[str, models.Operation] = {}
        self.by_key: dict[str, models.Operation] = {}
        self.callers: list[Caller] = []
        self._ticks = 0

    async def ingest(self, caller, request, *, idempotency_key=None):
        self.callers.append(caller)
        if idempotency_key in self.by_key:
            return self.by_key[idempotency_key]
        kept = self.kept.setdefault(request.conversation_id, Kept())
        ids = tuple(
            self._remember(request.conversation_id, kept, message.content) for message in request.messages
        )
        operation = self._operation("ingest", request.conversation_id, ids, done=request.wait)
        if idempotency_key is not None:
            self.by_key[idempotency_key] = operation
        return operation

    async def search(self, caller, request):
        kept = self.kept.get(request.conversation_id, Kept())
        words = set(request.query.lower().split())
        found = [
            models.Found(id=m.id, type=m.track, text=m.text, score=float(score), message_ids=m.message_ids)
            for m in kept.memories.values()
            if m.status == "active" and (score := len(words & set(m.text.lower().split())))
        ]
        found.sort(key=lambda one: -one.score)
        return models.SearchResult(results=tuple(found[: request.top_k]))

    async def answer(self, caller, request):
        ask = models.SearchRequest(conversation_id=request.conversation_id, query=request.question)
        evidence = (await self.search(caller, ask)).results
        return models.AnswerResult(
            answer=evidence[0].text if evidence else None, evidence=evidence, sufficient=bool(evidence)
        )

    async def conversations(self, caller, paging):
        rows = [
            models.ConversationOut(
                conversation_id=name, messages=len(kept.messages), created_at=START, updated_at=START
            )
            for name, kept in sorted(self.kept.items())
        ]
        return _page(rows, paging)

    async def messages(self, caller, conversation_id, paging):
        return _page(self._kept(conversation_id).messages, paging)

    async def memories(self, caller, conversation_id, paging, *, status="active", **_):
        every = self._kept(conversation_id).memories.values()
        return _page([m for m in every if status == "all" or m.status == "active"], paging)

    async def memory(self, caller, memory_id):
        for kept in self.kept.values():
            if memory_id in kept.memories:
                return kept.memories[memory_id]
        raise NotFound(f"no memory {memory_id}")

    async def change(self, caller, memory_id, change, *, if_version=None):
        before = await self.memory(caller, memory_id)
        if if_version not in (None, before.version):
            raise Conflict(f"version {before.version} is current")
        return self._write("Update", before, **change.model_dump(exclude_unset=True))

    async def supersede(self, caller, memory_id, successor):
        before = await self.memory(caller, memory_id)
        kept = self._kept(before.conversation_id)
        self._remember(before.conversation_id, kept, successor.text)
        new = next(reversed(kept.memories.values()))
        self._write("Supersede", before, status="superseded", replaced_by=new.id)
        return new

    async def retract(self, caller, memory_id):
        return self._write("Retract", await self.memory(caller, memory_id), status="retracted")

    async def restore(self, caller, memory_id):
        before = await self.memory(caller, memory_id)
        if before.status != "retracted":
            raise Conflict("it is not retracted")
        return self._write("Restore", before, status="active")

    async def erase_memory(self, caller, memory_id, *, dry_run=False):
        memory = await self.memory(caller, memory_id)
        if not dry_run:
            del self._kept(memory.conversation_id).memories[memory_id]
        return models.Erased(memories=1, dry_run=dry_run)

    async def erase_conversation(self, caller, conversation_id, *, dry_run=False):
        kept = self._kept(conversation_id)
        if not dry_run:
            del self.kept[conversation_id]
        return models.Erased(messages=len(kept.messages), memories=len(kept.memories), dry_run=dry_run)

    async def history(self, caller, memory_id):
        memory = await self.memory(caller, memory_id)
        return tuple(self._kept(memory.conversation_id).history[memory_id])

    async def provenance(self, caller, memory_id):
        memory = await self.memory(caller, memory_id)
        messages = self._kept(memory.conversation_id).messages
        return models.Provenance(
            memory=memory,
            messages=tuple(m for m in messages if m.id in memory.message_ids),
            segments=(),
            trajectories=(),
            queries=(),
        )

    async def segments(self, caller, conversation_id, paging):
        times = {"began": START, "ended": START}
        rows = [
            models.SegmentOut(
                id=f"seg_{m.position}",
                message_ids=(m.id,),
                start=m.position,
                stop=m.position + 1,
                trajectory_id=None,
                entities=(),
                **times,
            )
            for m in self._kept(conversation_id).messages
        ]
        return _page(rows, paging)

    async def trajectories(self, caller, conversation_id, paging):
        self._kept(conversation_id)
        return _page([models.TrajectoryOut(id="trj_1", segment_ids=("seg_0",), entities=("dog",))], paging)

    async def candidates(self, caller, conversation_id, paging):
        self._kept(conversation_id)
        return _page([], paging)

    async def operation(self, caller, operation_id):
        """Done the second time one asks."""
        if operation_id not in self.operations:
            raise NotFound(f"no operation {operation_id}")
        now = self.operations[operation_id]
        self.operations[operation_id] = now.model_copy(update={"status": models.OperationStatus.DONE})
        return now

    async def cancel(self, caller, operation_id):
        now = await self.operation(caller, operation_id)
        if now.status != models.OperationStatus.PENDING:
            raise Conflict("it has begun")
        return now.model_copy(update={"status": models.OperationStatus.CANCELLED})

    async def retry(self, caller, operation_id):
        raise Conflict("it has not failed")

    async def export(self, caller, conversation_id):
        return models.Bundle(
            conversation_id=conversation_id,
            key="k1",
            embedder="hash",
            messages=tuple(self._kept(conversation_id).messages),
            state={"facts": [{"text": "x"}]},
        )

    async def import_(self, caller, bundle):
        if bundle.conversation_id in self.kept:
            raise Conflict("it exists")
        self.kept[bundle.conversation_id] = Kept(list(bundle.messages))
        return self._operation("import", bundle.conversation_id, (), done=True)

    async def usage(self, caller, *, since=None):
        return models.TenantUsage(
            since=since, requests=3, prompt_tokens=0, completion_tokens=0, model_calls=0, embedded_texts=0
        )

    async def audit(self, caller, paging):
        entry = models.AuditEntry(at=START, key_id="", request_id="r", action="ingest", target="amy")
        return _page([entry] * 3, paging)

    async def check(self):
        pass

    async def close(self):
        pass

    def _kept(self, conversation_id: str) -> Kept:
        if conversation_id not in self.kept:
            raise NotFound(f"no conversation {conversation_id}")
        return self.kept[conversation_id]

    def _remember(self, conversation_id: str, kept: Kept, text: str) -> str:
        place = len(kept.messages)
        message = models.SourceMessage(
            id=f"msg_{conversation_id}_{place}".replace(":", "_"),
            position=place,
            session=1,
            role="user",
            name="user",
            content=text,
            timestamp=START + timedelta(minutes=place),
        )
        kept.messages.append(message)
        new = models.Memory(
            id=message.id.replace("msg", "mem"),
            conversation_id=conversation_id,
            track="core",
            type="Fact",
            subject="user",
            attribute="",
            text=text,
            status="active",
            version=0,
            ingested_at=message.timestamp,
            message_ids=(message.id,),
        )
        kept.memories[new.id] = new
        self._write("Add", new)
        return message.id

    def _write(self, op: str, before: models.Memory, **changes) -> models.Memory:
        kept = self._kept(before.conversation_id)
        self._ticks += 1
        now = before.model_copy(update={**changes, "version": before.version + 1})
        kept.memories[now.id] = now
        entry = models.HistoryEntry(
            op=op,
            text=now.text,
            status=now.status,
            at=START + timedelta(hours=self._ticks),
            decided_by="user",
            reason="",
        )
        kept.history.setdefault(now.id, []).append(entry)
        return now

    def _operation(self, kind: str, conversation_id: str, ids: tuple[str, ...], *, done: bool):
        status = models.OperationStatus.DONE if done else models.OperationStatus.PENDING
        operation = models.Operation(
            id=f"op_{len(self.operations)}",
            kind=kind,
            conversation_id=conversation_id,
            status=status,
            created_at=START,
            updated_at=START,
            accepted=len(ids),
            message_ids=ids,
        )
        self.operations[operation.id] = operation
        return operation


def _page(rows: Iterable[T], paging: Paging) -> models.Page[T]:
    every = list(rows)
    start = int(paging.cursor or 0)
    stop = start + paging.limit
    cursor = str(stop) if stop < len(every) else None
    return models.Page(results=tuple(every[start:stop]), next_cursor=cursor)
