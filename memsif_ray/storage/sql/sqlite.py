"""SQLite in one file, or in memory.

**Threads.** A transaction runs as a whole in a worker thread, with SQLAlchemy's synchronous engine: one
change of threads. An asynchronous driver makes three or four for each statement, and took 2.4 times as long.
SQLite takes one writer at a time, so there is one writing thread, and those who wait for it share commits
(`group_commit`); writers of other processes wait for SQLite's own lock.

**On disk.** `synchronous=FULL`: a commit is on disk when it returns.

**Forgetting.** SQLite overwrites what is deleted (`secure_delete`), but its write-ahead log still holds pages
as they were, so `overwrite` ends with emptying the log. One thing is left: where SQLite moved rows between
pages, a copy of a row may remain in the unused part of a page (rare, but seen: a test has an example). Only
rewriting the file removes that (`purge`), at a cost that grows with the file.
"""

from __future__ import annotations

import asyncio
import sqlite3
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, Engine, create_engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.pool import QueuePool, StaticPool

from memsif_ray.errors import ConfigError, ServiceBusy
from memsif_ray.storage.sql.database import CONNECTIONS, PATIENCE_S, Args, Out, Work
from memsif_ray.storage.sql.failures import translated
from memsif_ray.storage.sql.group_commit import GroupCommit

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
        self._writing = GroupCommit(lambda: self._transaction("BEGIN IMMEDIATE"), self._empty_log)
        # A database in memory is one connection, so everything takes turns.
        self._reading = (
            self._writing.thread if in_memory else ThreadPoolExecutor(CONNECTIONS - 1, "memsif-sqlite")
        )
        self._waiting = 0

    async def read(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """See [`Database.read`][memsif_ray.storage.sql.database.Database.read]."""

        def look() -> Out:
            with self._transaction("BEGIN") as connection:
                return work(connection, *args, **kwargs)

        with self._lined_up():
            return await _in(self._reading, look)

    async def write(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """See [`Database.write`][memsif_ray.storage.sql.database.Database.write]."""
        with self._lined_up():
            return await self._writing.write(lambda connection: work(connection, *args, **kwargs))

    async def overwrite(self, work: Work[Args, Out], *args: Args.args, **kwargs: Args.kwargs) -> Out:
        """See [`Database.overwrite`][memsif_ray.storage.sql.database.Database.overwrite].

        The change stands even if a reader of another process keeps the log from being emptied: the next
        call does it.
        """
        with self._lined_up():
            return await self._writing.write(
                lambda connection: work(connection, *args, **kwargs), forgets=True
            )

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
            if not self._empty_log():
                raise ServiceBusy("a reader keeps the log of deleted rows open", "store_busy", 1.0)

        with self._lined_up():
            await _in(self._writing.thread, rewrite)

    async def close(self) -> None:
        """Finish what has begun, then let go."""
        await asyncio.to_thread(self._writing.thread.shutdown)
        await asyncio.to_thread(self._reading.shutdown)
        self._engine.dispose()

    @contextmanager
    def _lined_up(self) -> Iterator[None]:
        """Waiting for a transaction, of which there is an end."""
        if self._waiting >= _MAX_WAITING:
            raise ServiceBusy("too many transactions are waiting", "store_busy", 1.0)
        self._waiting += 1
        try:
            with translated():
                yield
        finally:
            self._waiting -= 1

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        with self._engine.connect() as connection, connection.execution_options(begin=begin).begin():
            yield connection

    @contextmanager
    def _bare(self) -> Iterator[Connection]:
        with self._engine.connect() as connection:
            yield connection.execution_options(begin="")

    def _empty_log(self) -> bool:
        """Move the log's pages to the file and cut it to nothing; False when a reader is in the way."""
        with self._bare() as connection:
            busy = connection.execute(text("PRAGMA wal_checkpoint(TRUNCATE)")).one()[0]
            return not busy


async def _in(threads: ThreadPoolExecutor, call: Callable[[], Out]) -> Out:
    return await asyncio.get_running_loop().run_in_executor(threads, call)


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


def _set_up(connection: sqlite3.Connection, _record: Any) -> None:
    # Else the driver begins transactions by itself: late, and without the lock that a writer needs.
    connection.isolation_level = None
    _write_ahead(connection)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Give a new file its log.

    That wants the file all to itself, so it is not done when it is done already. Where another process has
    begun to, SQLite refuses at once instead of waiting, as each could be waiting for the other.
    """
    until = time.monotonic() + PATIENCE_S
    while connection.execute("PRAGMA journal_mode").fetchone()[0] == "delete":
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > until:
                raise
            time.sleep(0.01)


def _begin(connection: Connection) -> None:
    statement = connection.get_execution_options()["begin"]
    if statement:
        connection.exec_driver_sql(statement)
