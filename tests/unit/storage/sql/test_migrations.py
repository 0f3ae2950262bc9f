"""A database of any age comes to the present schema, once, and a newer one is left alone."""

from __future__ import annotations

import asyncio
import multiprocessing
import sqlite3
from functools import partial

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, text

from memsif_ray.errors import ConfigError
from memsif_ray.storage.sql import open_store
from memsif_ray.storage.sql.migrate import migrate
from memsif_ray.storage.sql.opening import database_of
from memsif_ray.storage.sql.tables import METADATA
from tests.unit.storage.sql.values import message, operation


async def test_the_steps_lead_to_the_tables_of_the_program(url: str) -> None:
    await (await open_store(url)).close()

    def differences(connection: Connection) -> list[object]:
        return compare_metadata(MigrationContext.configure(connection), METADATA)

    database = database_of(url)
    assert await database.read(differences) == []
    await database.close()


async def test_an_older_database_is_upgraded_and_keeps_its_rows(url: str) -> None:
    database = database_of(url)
    await database.upgrade(partial(migrate, revision="0001_memories"))

    def fill(connection: Connection) -> None:
        at = (
            "'2026-01-01 00:00:00+00'" if connection.dialect.name == "postgresql" else "'2026-01-01 00:00:00'"
        )
        connection.execute(
            text(
                "INSERT INTO conversations"
                " (tenant, conversation_id, key, revision, messages, created_at, updated_at)"
                f" VALUES ('t', 'c1', 'oldkey', 0, 0, {at}, {at})"
            )
        )

    await database.write(fill)
    await database.close()
    store = await open_store(url)
    row = await store.conversation("t", "c1")
    assert row is not None
    assert (row.key, row.created_at.isoformat()) == ("oldkey", "2026-01-01T00:00:00+00:00")
    await store.accept("oldkey", [message(0)], operation("a"))
    await store.api_keys.add_tenant("t")
    await store.close()


async def test_a_newer_database_is_refused_and_not_touched(url: str) -> None:
    await (await open_store(url)).close()
    database = database_of(url)
    newer = text("UPDATE alembic_version SET version_num = '9999_future'")
    await database.write(lambda connection: connection.execute(newer) and None)
    with pytest.raises(ConfigError, match="newer version"):
        await open_store(url)
    version = text("SELECT version_num FROM alembic_version")
    assert await database.read(lambda connection: connection.execute(version).scalars().all()) == [
        "9999_future"
    ]
    await database.close()


async def test_stores_opened_at_the_same_time_make_one_schema(url: str) -> None:
    stores = await asyncio.gather(*(open_store(url) for _ in range(4)))
    rows = await asyncio.gather(*(store.create("t", "c1") for store in stores))
    assert len({row.key for row in rows}) == 1
    for store in stores:
        await store.close()


async def test_a_new_file_that_another_process_is_setting_up_is_waited_for(tmp_path) -> None:
    other = sqlite3.connect(tmp_path / "new.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")  # SQLite would not wait for this: it refuses to change to a log
    opening = asyncio.create_task(open_store(f"sqlite:///{tmp_path}/new.db"))
    await asyncio.wait([opening], timeout=0.3)
    other.execute("COMMIT")
    store = await opening
    assert other.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    other.close()
    await store.close()


def _open_and_write(url: str, number: int) -> None:
    async def work() -> None:
        store = await open_store(url)
        row = await store.create("t", "c1")
        for i in range(5):
            name = f"{number}-{i}"
            given = message(number * 5 + i, message_id=name)
            await store.accept(row.key, [given], operation(name))
        await store.close()

    asyncio.run(work())


async def test_processes_that_start_together_share_one_database(url: str) -> None:
    spawn = multiprocessing.get_context("spawn")
    processes = [spawn.Process(target=_open_and_write, args=(url, number)) for number in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        await asyncio.to_thread(process.join, 120)
    assert [process.exitcode for process in processes] == [0, 0, 0]
    store = await open_store(url)
    row = await store.create("t", "c1")
    assert [m.position for m in await store.messages(row.key)] == list(range(15))
    await store.close()
