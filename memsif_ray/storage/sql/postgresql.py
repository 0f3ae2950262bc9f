"""PostgreSQL by URL.

**Forgetting.** Deleted rows are out of reach at once, and `purge` (VACUUM) lets their place be used again.
But nothing overwrites that place: bytes may stay in the server's files until it is used, in its log until
that is recycled, and in replicas and backups. Who must promise more encrypts the server's disk.
VACUUM FULL would lock every tenant out of a table while it copies it, and leave those bytes all the same, in
the blocks of the file that it deletes.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from sqlalchemy import Connection, text
from sqlalchemy.engine import URL
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool

from memsif_ray.errors import ConfigError
from memsif_ray.storage.sql.database import CONNECTIONS, PATIENCE_S, Args, Out, Work
from memsif_ray.storage.sql.failures import translated
from memsif_ray.storage.sql.tables import METADATA

_UPGRADE_LOCK = int.from_bytes(b"memsif")


class PostgresDatabase:
    """A [`Database`][memsif_ray.storage.sql.database.Database]. Belongs to one event loop."""

    def __init__(self, url: URL) -> None:
        """Nothing is opened yet.

        Raises:
            ConfigError: When the driver is not installed.
        """
        self._url = url
        self._engine = _engine(url)

    async def read(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """See [`Database.read`][memsif_ray.storage.sql.database.Database.read]."""
        with translated():
            async with self._engine.connect() as connection:
                await connection.execution_options(isolation_level="REPEATABLE READ")
                return await connection.run_sync(work, *args, **kwargs)

    async def write(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """See [`Database.write`][memsif_ray.storage.sql.database.Database.write]."""
        with translated():
            async with self._engine.begin() as connection:
                return await connection.run_sync(work, *args, **kwargs)

    async def overwrite(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """The same as `write`: see the top of this file."""
        return await self.write(work, *args, **kwargs)

    async def upgrade(self, work: Callable[[Connection], None]) -> None:
        """See [`Database.upgrade`][memsif_ray.storage.sql.database.Database.upgrade]."""
        with translated():
            await asyncio.to_thread(asyncio.run, _upgrade(self._url, work))

    async def purge(self) -> None:
        """Let the place of deleted rows be used again."""
        names = ", ".join(f'"{table.name}"' for table in METADATA.sorted_tables)
        with translated():
            async with self._engine.connect() as connection:
                await connection.execution_options(isolation_level="AUTOCOMMIT")
                await connection.execute(text(f"VACUUM {names}"))

    async def close(self) -> None:
        """Let go of all connections."""
        await self._engine.dispose()


async def _upgrade(url: URL, work: Callable[[Connection], None]) -> None:
    engine = _engine(url)
    try:
        async with engine.begin() as connection:
            await connection.execute(text(f"SELECT pg_advisory_xact_lock({_UPGRADE_LOCK})"))
            await connection.run_sync(work)
    finally:
        await engine.dispose()


def _engine(url: URL) -> AsyncEngine:
    settings = {"application_name": "memsif-ray", "lock_timeout": str(int(PATIENCE_S * 1000))}
    try:
        return create_async_engine(
            url,
            poolclass=AsyncAdaptedQueuePool,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=PATIENCE_S,
            pool_pre_ping=True,  # a server that was restarted costs nobody an error
            connect_args={
                "timeout": PATIENCE_S,
                "command_timeout": 6 * PATIENCE_S,  # VACUUM too
                "server_settings": settings,
            },
        )
    except ModuleNotFoundError as error:
        raise ConfigError("PostgreSQL wants its driver: pip install 'memsif-ray[postgres]'") from error
