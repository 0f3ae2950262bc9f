"""What a tenant takes away, brings along, has used and has done."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated

from fastapi import Query, Response

from memsif_ray.api.dependencies import BackendOf, CallerOf, ConversationInQuery, PagingOf, router
from memsif_ray.service.models import AuditEntry, Bundle, Operation, Page, TenantUsage

BUNDLES = router("Bundles")
ACCOUNT = router("Account")


@BUNDLES.get("/v1/export", summary="Everything about a conversation")
async def export(conversation_id: ConversationInQuery, backend: BackendOf, caller: CallerOf) -> Bundle:
    """Messages and state, to be imported elsewhere with the same ids."""
    return await backend.export(caller, conversation_id)


@BUNDLES.post("/v1/import", status_code=202, summary="Take over a conversation")
async def import_(body: Bundle, response: Response, backend: BackendOf, caller: CallerOf) -> Operation:
    """Refused with `409` when it exists already, or its vectors were made by another embedder."""
    operation = await backend.import_(caller, body)
    response.headers["Location"] = f"/v1/operations/{operation.id}"
    return operation


@ACCOUNT.get("/v1/usage", summary="What this tenant has used")
async def usage(
    backend: BackendOf,
    caller: CallerOf,
    since: Annotated[datetime | None, Query(description="By default all of it")] = None,
) -> TenantUsage:
    """Requests, model calls, tokens and embedded texts."""
    return await backend.usage(caller, since=since)


@ACCOUNT.get("/v1/audit", summary="Who did what")
async def audit(backend: BackendOf, caller: CallerOf, paging: PagingOf) -> Page[AuditEntry]:
    """Newest first: keys, actions and ids, never any text."""
    return await backend.audit(caller, paging)
