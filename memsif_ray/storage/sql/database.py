"""What a store needs of a database, and how a URL names one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, Protocol, TypeVar

from sqlalchemy import Connection, Table, exc
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.engine import URL, make_url

from memsif_ray.errors import ConfigError

PATIENCE_S = 10.0
"""How long a lock, a free connection or the server is waited for."""
CONNECTIONS = 8
"""At most so many are open at a time."""

Args = ParamSpec("Args")
Out = TypeVar("Out")
Work = Callable[Concatenate[Connection, Args], Out]
"""Some statements. They run inside a transaction and outside the event loop, which they do not hold up."""

_REMEDY = "give sqlite:///path/to/file.db or postgresql://user:password@host/name"


class Database(Protocol):
    """Runs transactions. All methods raise what `failures.translated` makes of a driver's errors."""

    async def read(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """In a transaction that sees one state of the database and changes nothing."""
        ...

    async def write(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """In a transaction that is on disk when this returns, or undone by an exception."""
        ...

    async def overwrite(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """As `write`; what it deletes or replaces is then gone from the log too."""
        ...

    async def upgrade(self, work: Callable[[Connection], None]) -> None:
        """In a transaction that no other process's `upgrade` overlaps, in a thread without an event loop."""
        ...

    async def purge(self) -> None:
        """Rewrite what held deleted rows."""
        ...

    async def close(self) -> None:
        """Let go of all connections."""
        ...


def parse_url(text: str) -> URL:
    """A URL of SQLite or PostgreSQL, whichever driver it names; ours is used.

    Raises:
        ConfigError: When it is none. The message does not repeat it, since it may hold a password.
    """
    try:
        url = make_url(text)
    except (exc.ArgumentError, ValueError) as error:
        raise ConfigError(f"the store's URL cannot be read: {_REMEDY}") from error
    backend = url.get_backend_name()
    if backend not in ("sqlite", "postgresql", "postgres"):
        raise ConfigError(f"there is no store for {backend!r}: {_REMEDY}")
    return url.set(drivername="sqlite" if backend == "sqlite" else "postgresql+asyncpg")


def insert_into(connection: Connection, table: Table) -> sqlite.Insert | postgresql.Insert:
    """An insertion that knows what to do when the row is there; both databases say it in the same way."""
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table)
    return postgresql.insert(table)
