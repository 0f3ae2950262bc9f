"""A KeyStore over SQL.

A secret is `msk_<key id>_<256 random bits>`. The key id is public and finds the row; the whole secret is
compared with its SHA-256 in constant time. A slow password hash would gain nothing: it makes guesses dear
where there are few, and among 2^256 none is ever right. It would cost every request tens of milliseconds.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Callable
from dataclasses import asdict
from datetime import datetime

from pydantic import TypeAdapter, ValidationError
from sqlalchemy import Connection, func, insert, select, update

from memsif_ray.errors import Conflict, DataError, NotFound
from memsif_ray.service.keys import KeyRow
from memsif_ray.service.models import Name
from memsif_ray.storage.sql.database import Database, insert_into
from memsif_ray.storage.sql.rows import key_of
from memsif_ray.storage.sql.tables import API_KEYS, TENANTS

Clock = Callable[[], datetime]

_SECRET = re.compile(r"msk_([0-9a-f]{16})_[A-Za-z0-9_-]{43}", re.ASCII)
_NOBODY = "0" * 16
_TENANT: TypeAdapter[str] = TypeAdapter(Name)


class SqlKeyStore:
    """A [`KeyStore`][memsif_ray.service.store.KeyStore] in SQLite or PostgreSQL."""

    def __init__(self, database: Database, *, clock: Clock) -> None:
        """The database's schema is that of `tables`."""
        self._database = database
        self._clock = clock

    async def add_tenant(self, tenant: str) -> None:
        """Make a tenant.

        Raises:
            Conflict: When there is one of that name.
            DataError: When it is empty, too long, or has control characters or `*`.
        """
        try:
            _TENANT.validate_python(tenant)
        except ValidationError as error:
            raise DataError(f"{tenant!r} cannot be the name of a tenant") from error
        await self._database.write(_add_tenant, tenant, self._clock())

    async def tenants(self) -> list[str]:
        """All of them, sorted."""
        return await self._database.read(_tenants)

    async def add_key(self, tenant: str, *, name: str, per_minute: int | None = None) -> tuple[KeyRow, str]:
        """Make a key; returns it and its secret, which cannot be read again.

        Raises:
            NotFound: When there is no such tenant.
        """
        row = KeyRow(secrets.token_hex(8), tenant, name, self._clock(), per_minute)
        secret = f"msk_{row.key_id}_{secrets.token_urlsafe(32)}"
        await self._database.write(_add_key, row, _digest(secret))
        return row, secret

    async def keys(self, tenant: str) -> list[KeyRow]:
        """A tenant's keys, oldest first, revoked ones included."""
        return await self._database.read(_keys, tenant)

    async def revoke(self, key_id: str) -> None:
        """Refuse it from now on; doing it twice changes nothing.

        Raises:
            NotFound: When there is no such key.
        """
        await self._database.write(_revoke, key_id, self._clock())

    async def key_of(self, secret: str) -> KeyRow | None:
        """The key of a secret, revoked or not; None for an unknown one.

        Malformed, unknown and wrong secrets take the same steps as right ones.
        """
        match = _SECRET.fullmatch(secret)
        found = await self._database.read(_key_and_digest, match[1] if match else _NOBODY)
        key, digest = found or (None, bytes(32))
        return key if hmac.compare_digest(_digest(secret), digest) else None


def _add_tenant(connection: Connection, tenant: str, now: datetime) -> None:
    query = insert_into(connection, TENANTS).values(name=tenant, created_at=now)
    if connection.execute(query.on_conflict_do_nothing()).rowcount != 1:
        raise Conflict(f"there is a tenant {tenant!r} already")


def _tenants(connection: Connection) -> list[str]:
    return list(connection.execute(select(TENANTS.c.name).order_by(TENANTS.c.name)).scalars())


def _add_key(connection: Connection, row: KeyRow, digest: bytes) -> None:
    tenant = select(TENANTS).where(TENANTS.c.name == row.tenant)
    if connection.execute(tenant).one_or_none() is None:
        raise NotFound(f"there is no tenant {row.tenant!r}")
    connection.execute(insert(API_KEYS), asdict(row) | {"digest": digest})


def _keys(connection: Connection, tenant: str) -> list[KeyRow]:
    query = select(API_KEYS).where(API_KEYS.c.tenant == tenant)
    rows = connection.execute(query.order_by(API_KEYS.c.created_at, API_KEYS.c.key_id))
    return [key_of(row) for row in rows]


def _revoke(connection: Connection, key_id: str, now: datetime) -> None:
    first = func.coalesce(API_KEYS.c.revoked_at, now)
    query = update(API_KEYS).where(API_KEYS.c.key_id == key_id).values(revoked_at=first)
    if connection.execute(query).rowcount != 1:
        raise NotFound(f"there is no key {key_id!r}")


def _key_and_digest(connection: Connection, key_id: str) -> tuple[KeyRow, bytes] | None:
    row = connection.execute(select(API_KEYS).where(API_KEYS.c.key_id == key_id)).one_or_none()
    return None if row is None else (key_of(row), row.digest)


def _digest(secret: str) -> bytes:
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
