"""From a URL to a store whose schema is that of the program."""

from __future__ import annotations

from datetime import UTC, datetime

from sqlalchemy.engine import URL

from memsif_ray.errors import ConfigError, MemsifError
from memsif_ray.storage.sql.database import Database, parse_url
from memsif_ray.storage.sql.keys import Clock
from memsif_ray.storage.sql.migrate import migrate
from memsif_ray.storage.sql.sqlite import SqliteDatabase
from memsif_ray.storage.sql.store import SqlStore


def utc_now() -> datetime:
    """The time of the machine."""
    return datetime.now(UTC)


async def open_store(url: str, *, clock: Clock = utc_now) -> SqlStore:
    """Open a database, make or upgrade its schema, and serve it.

    Safe to call from several processes at once.

    Args:
        url: `sqlite:///path/to/file.db`, `postgresql://user:password@host/name`, or `sqlite://` for one in
            memory that is gone when the store is closed.
        clock: Says when rows were made.

    Raises:
        ConfigError: When the URL names no database, its driver is not installed, the database refuses the
            user, or was written by a newer version of this program.
        ServiceBusy: When the database does not answer.
    """
    database = database_of(url)
    try:
        await database.upgrade(migrate)
    except MemsifError:
        await database.close()
        raise
    return SqlStore(database, clock=clock)


def database_of(url: str) -> Database:
    """The database that a URL names, with the schema it has.

    Raises:
        ConfigError: When its driver is not installed.
    """
    parsed = parse_url(url)
    return SqliteDatabase(parsed) if parsed.drivername == "sqlite" else _postgres(parsed)


def _postgres(url: URL) -> Database:
    try:  # what it imports comes with the extra only: SQLAlchemy's asyncio needs greenlet
        from memsif_ray.storage.sql.postgresql import PostgresDatabase
    except ImportError as exc:
        raise ConfigError("PostgreSQL needs `pip install 'memsif-ray[postgres]'`") from exc
    return PostgresDatabase(url)
