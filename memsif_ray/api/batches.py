"""Several ingests in one request."""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Sequence

from memsif_ray.api.errors import as_api_error, detail
from memsif_ray.errors import MemsifError
from memsif_ray.service.backend import Backend, Caller
from memsif_ray.service.models import BatchItem, BatchResult, IngestRequest

_SIDE_BY_SIDE = 8


async def ingest_all(
    backend: Backend, caller: Caller, requests: Sequence[IngestRequest], *, idempotency_key: str | None
) -> BatchResult:
    """Different conversations side by side, those of one conversation in order.

    Each request gets an idempotency key of its own, so a repeated batch applies what is missing.
    """
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, request in enumerate(requests):
        places[request.conversation_id].append(place)
    items: dict[int, BatchItem] = {}
    slots = asyncio.Semaphore(_SIDE_BY_SIDE)

    async def one_conversation(its_places: Sequence[int]) -> None:
        async with slots:
            for place in its_places:
                key = f"{idempotency_key}:{place}" if idempotency_key else None
                items[place] = await _ingest(backend, caller, requests[place], idempotency_key=key)

    async with asyncio.TaskGroup() as group:
        for its_places in places.values():
            group.create_task(one_conversation(its_places))
    results = tuple(items[place] for place in range(len(requests)))
    return BatchResult(results=results, failed=sum(item.error is not None for item in results))


async def _ingest(
    backend: Backend, caller: Caller, request: IngestRequest, *, idempotency_key: str | None
) -> BatchItem:
    try:
        operation = await backend.ingest(caller, request, idempotency_key=idempotency_key)
    except MemsifError as error:
        return BatchItem(error=detail(as_api_error(error)))
    return BatchItem(operation=operation)
