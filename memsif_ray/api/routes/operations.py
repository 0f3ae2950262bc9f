"""Writes that were acknowledged before they were digested."""

from __future__ import annotations

from memsif_ray.api.dependencies import BackendOf, CallerOf, OperationId, router
from memsif_ray.service.models import Operation

ROUTER = router("Operations")


@ROUTER.get("/v1/operations/{operation_id}", summary="What became of a write")
async def get_operation(operation_id: OperationId, backend: BackendOf, caller: CallerOf) -> Operation:
    """`pending`, `running`, `done`, `failed` or `cancelled`."""
    return await backend.operation(caller, operation_id)


@ROUTER.post("/v1/operations/{operation_id}/cancel", summary="Take a write back")
async def cancel(operation_id: OperationId, backend: BackendOf, caller: CallerOf) -> Operation:
    """Its messages are removed. Refused with `409` once it is being digested."""
    return await backend.cancel(caller, operation_id)


@ROUTER.post("/v1/operations/{operation_id}/retry", summary="Digest a failed write again")
async def retry(operation_id: OperationId, backend: BackendOf, caller: CallerOf) -> Operation:
    """Its messages are stored already. Refused with `409` when it has not failed."""
    return await backend.retry(caller, operation_id)
