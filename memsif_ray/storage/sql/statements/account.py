"""Statements about what tenants used and did, and about the database's health."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy import Connection, func, insert, select

from memsif_ray.service.models import AuditEntry, TenantUsage, Usage
from memsif_ray.storage.sql.database import insert_into
from memsif_ray.storage.sql.rows import audit_of
from memsif_ray.storage.sql.tables import AUDIT, PULSE, USAGE

_COUNTS = ("requests", "prompt_tokens", "completion_tokens", "model_calls", "embedded_texts")


def add_usage(connection: Connection, tenant: str, at: datetime, usage: Usage, requests: int) -> None:
    """Add to the hour of `at`."""
    counts = {"requests": requests} | usage.model_dump()
    query = insert_into(connection, USAGE).values({"tenant": tenant, "hour": _hour(at)} | counts)
    sums = {name: USAGE.c[name] + query.excluded[name] for name in counts}
    connection.execute(query.on_conflict_do_update(index_elements=["tenant", "hour"], set_=sums))


def usage(connection: Connection, tenant: str, since: datetime | None) -> TenantUsage:
    """From the beginning of the hour of `since`, which is what the result names."""
    sums = [func.coalesce(func.sum(USAGE.c[name]), 0).label(name) for name in _COUNTS]
    query = select(*sums).where(USAGE.c.tenant == tenant)
    if since is not None:
        since = _hour(since)
        query = query.where(USAGE.c.hour >= since)
    row = connection.execute(query).one()
    return TenantUsage(since=since, **{name: int(value) for name, value in row._mapping.items()})


def add_audit(connection: Connection, tenant: str, entry: AuditEntry) -> None:
    """Append."""
    connection.execute(insert(AUDIT), {"tenant": tenant} | entry.model_dump())


def audit(
    connection: Connection, tenant: str, before: int | None, limit: int
) -> list[tuple[int, AuditEntry]]:
    """Newest first."""
    query = select(AUDIT).where(AUDIT.c.tenant == tenant).order_by(AUDIT.c.number.desc()).limit(limit)
    if before is not None:
        query = query.where(AUDIT.c.number < before)
    return [(int(row.number), audit_of(row)) for row in connection.execute(query)]


def beat(connection: Connection, at: datetime) -> None:
    """Write something that does not grow, and read it."""
    query = insert_into(connection, PULSE).values(id=1, at=at)
    connection.execute(query.on_conflict_do_update(index_elements=["id"], set_={"at": query.excluded.at}))
    connection.execute(select(PULSE)).one()


def _hour(at: datetime) -> datetime:
    # In UTC: a zone may be half an hour off.
    return at.astimezone(UTC).replace(minute=0, second=0, microsecond=0)
