"""What the server asks of a database about tenants and their API keys; `storage.sql.keys` answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Protocol


@dataclass(frozen=True, slots=True)
class KeyRow:
    """An API key; the secret itself is never stored.

    Attributes:
        key_id: Public; in logs and audit entries.
        tenant: Whose it is.
        per_minute: Requests that it may make in a minute; None = the server's default.
        revoked_at: Since when it is refused.
    """

    key_id: str
    tenant: str
    name: str
    created_at: datetime
    per_minute: int | None = None
    revoked_at: datetime | None = None


class KeyStore(Protocol):
    """Tenants and their keys. Secrets are stored as hashes of a function made for high-entropy secrets."""

    async def add_tenant(self, tenant: str) -> None:
        """Make a tenant.

        Raises:
            Conflict: When there is one of that name.
        """
        ...

    async def tenants(self) -> list[str]:
        """All of them, sorted."""
        ...

    async def add_key(self, tenant: str, *, name: str, per_minute: int | None = None) -> tuple[KeyRow, str]:
        """Make a key; returns it and its secret, which cannot be read again.

        Raises:
            NotFound: When there is no such tenant.
        """
        ...

    async def keys(self, tenant: str) -> list[KeyRow]:
        """A tenant's keys, revoked ones included."""
        ...

    async def revoke(self, key_id: str) -> None:
        """Refuse it from now on.

        Raises:
            NotFound: When there is no such key.
        """
        ...

    async def key_of(self, secret: str) -> KeyRow | None:
        """The key of a secret, revoked or not; None for an unknown one. Takes the same time either way."""
        ...
