"""SQLite in one file, or in memory.

**Threads.** A transaction runs as a whole in a worker thread, with SQLAlchemy's synchronous engine: one
change of threads. An asynchronous driver makes three or four for each statement, and took 2.4 times as long.
SQLite takes one writer at a time, so there is one writing thread, whose queue is fair; writers of other
processes wait for SQLite's own lock.

**On disk.** `synchronous=FULL`: a commit is on disk when it returns.

**Forgetting.** SQLite overwrites what is deleted (`secure_delete`), but its write-ahead log still holds pages
as they were, so `overwrite` ends with emptying the log. One thing is left: where SQLite moved rows between
pages, a copy of a row may remain in the unused part of a page (rare, but seen: a test has an example). Only
rewriting the file removes that (`purge`), at a cost that grows with the file.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.pool import QueuePool, StaticPool

from memsif_ray.errors import ConfigError, ServiceBusy
from memsif_ray.storage.sql.database import CONNECTIONS, PATIENCE_S, Args, Out, Work
from memsif_ray.storage.sql.failures import translated

_PRAGMAS = ("synchronous=FULL", "foreign_keys=ON", "secure_delete=ON", "trusted_schema=OFF")
_MAX_WAITING = 1_000


class SqliteDatabase:
    """A [`Database`][memsif_ray.storage.sql.database.Database]."""

    def __init__(self, url: URL) -> None:
        """Nothing is opened yet, but the file is there.

        Raises:
            ConfigError: When it cannot be.
        """
        in_memory = url.database in (None, "", ":memory:")
        self._engine = _engine(url, in_memory=in_memory)
        self._writing = ThreadPoolExecutor(1, "memsif-sqlite-write")
        # A database in memory is one connection, so everything takes turns.
        self._reading = self._writing if in_memory else ThreadPoolExecutor(CONNECTIONS - 1, "memsif-sqlite")
        self._waiting = 0

    async def read(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """See [`Database.read`][memsif_ray.storage.sql.database.Database.read]."""
        return await self._run(self._reading, partial(self._transaction, "BEGIN", work, *args, **kwargs))

    async def write(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """See [`Database.write`][memsif_ray.storage.sql.database.Database.write]."""
        change = partial(self._transaction, "BEGIN IMMEDIATE", work, *args, **kwargs)
        return await self._run(self._writing, change)

    async def overwrite(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """See [`Database.overwrite`][memsif_ray.storage.sql.database.Database.overwrite].

        The change stands even if a reader of another process keeps the log from being emptied: the next
        call does it.
        """

        def change() -> Out:
            result = self._transaction("BEGIN IMMEDIATE", work, *args, **kwargs)
            with self._bare() as connection:
                _empty_log(connection)
            return result

        return await self._run(self._writing, change)

    async def upgrade(self, work: Callable[[Connection], None]) -> None:
        """See [`Database.upgrade`][memsif_ray.storage.sql.database.Database.upgrade]."""
        await self.write(work)

    async def purge(self) -> None:
        """Rewrite the file without what was deleted.

        Raises:
            ServiceBusy: When a reader of another process keeps the log open.
        """

        def rewrite() -> None:
            with self._bare() as connection:
                connection.execute(text("VACUUM"))
                if not _empty_log(connection):
                    raise ServiceBusy("a reader keeps the log of deleted rows open", "store_busy", 1.0)

        await self._run(self._writing, rewrite)

    async def close(self) -> None:
        """Finish what has begun, then let go."""
        await asyncio.to_thread(self._writing.shutdown)
        await asyncio.to_thread(self._reading.shutdown)
        self._engine.dispose()

    async def _run(self, threads: ThreadPoolExecutor, call: Callable[[], Out]) -> Out:
        if self._waiting >= _MAX_WAITING:
            raise ServiceBusy("too many transactions are waiting", "store_busy", 1.0)
        self._waiting += 1
        try:
            with translated():
                return await asyncio.get_running_loop().run_in_executor(threads, call)
        finally:
            self._waiting -= 1

    def _transaction(self, begin: str, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        with self._engine.connect() as connection, connection.execution_options(begin=begin).begin():
            return work(connection, *args, **kwargs)

    @contextmanager
    def _bare(self) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            yield connection.execution_options(begin="")


def _engine(url: URL, *, in_memory: bool) -> Engine:
    if in_memory:
        engine = create_engine(url, poolclass=StaticPool, connect_args={"check_same_thread": False})
    else:
        _make_private(Path(str(url.database)))
        engine = create_engine(
            url,
            poolclass=QueuePool,
            pool_size=CONNECTIONS,
            max_overflow=0,
            pool_timeout=PATIENCE_S,
            connect_args={"timeout": PATIENCE_S, "check_same_thread": False},
        )
    event.listen(engine, "connect", _set_up)
    event.listen(engine, "begin", _begin)
    return engine


def _make_private(path: Path) -> None:
    """Make the file readable for its owner only; its log gets the same rights."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
    except OSError as error:
        raise ConfigError(f"the store {path} cannot be opened: {error.strerror}") from error


def _set_up(connection: Any, _record: Any) -> None:
    # Else the driver begins transactions by itself: late, and without the lock that a writer needs.
    connection.isolation_level = None
    if connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
        # A new file. This wants it all to itself, so it is not done when it is done already.
        connection.execute("PRAGMA journal_mode=WAL")
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    statement = connection.get_execution_options()["begin"]
    if statement:
        connection.exec_driver_sql(statement)


def _empty_log(connection: Connection) -> bool:
    """Move the log's pages to the file and cut it to nothing; False when a reader is in the way."""
    busy = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()[0]
    return not busy
