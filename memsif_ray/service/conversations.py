"""The owner of all conversations that one process answers for: a `Backend` without Ray and without HTTP."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from uuid import uuid4

from memsif_ray.service import asking, bundles, ids
from memsif_ray.service.backend import Caller, Load
from memsif_ray.service.counting import counted
from memsif_ray.service.curating import Curating
from memsif_ray.service.desk import tenant_of
from memsif_ray.service.models import (
    AnswerRequest,
    AnswerResult,
    Bundle,
    IngestRequest,
    Operation,
    OperationStatus,
    SearchRequest,
    SearchResult,
)
from memsif_ray.service.store import ConversationRow
from memsif_ray.types import ChatRequest


class Conversations(Curating):
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
