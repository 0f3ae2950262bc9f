"""A database that is locked, gone or none is told in our words, without its secrets."""

from __future__ import annotations

import asyncio
import sqlite3
from pathlib import Path

import pytest

from memsif_ray.errors import ConfigError, MemsifError, ServiceBusy
from memsif_ray.storage.sql import open_store, sqlite
from tests import postgres_server
from tests.unit.storage.sql.values import message, operation


async def test_a_locked_file_is_busy_and_then_is_not(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0.05)
    store = await open_store(sqlite_url)
    row = await store.create("t", "c1")
    other = sqlite3.connect(tmp_path / "store" / "memsif.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(ServiceBusy):
        await store.accept(row.key, [message(0)], operation("a"))
    assert await store.messages(row.key) == []
    other.execute("ROLLBACK")
    await store.accept(row.key, [message(0)], operation("a"))
    other.close()
    await store.close()


async def test_a_reader_of_another_process_keeps_a_purge_from_its_promise_but_no_save(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0.05)
    store = await open_store(sqlite_url)
    row = await store.create("t", "c1")
    other = sqlite3.connect(tmp_path / "store" / "memsif.db", isolation_level=None)
    other.execute("BEGIN")
    other.execute("SELECT * FROM messages").fetchall()
    assert await store.save(row.key, revision=0, delete=[("x", "1")]) == 1
    with pytest.raises(ServiceBusy, match="reader"):
        await store.purge()
    other.close()
    await store.purge()
    await store.close()


async def test_a_cancelled_write_is_whole_or_absent(sqlite_url: str) -> None:
    store = await open_store(sqlite_url)
    row = await store.create("t", "c1")
    for number in range(10):
        both = [message(2 * number), message(2 * number + 1)]
        task = asyncio.create_task(store.accept(row.key, both, operation(str(number))))
        await asyncio.sleep(0.0005 * number)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    await store.ping()  # after all that had begun
    kept = await store.messages(row.key)
    assert len(kept) == 2 * len(await store.unfinished())
    await store.close()


@pytest.mark.parametrize(
    "url", ["", "nonsense", "mysql://u:s3cret@h/x", "postgresql://u:s3cret@h:port/x", "/some/path.db"]
)
async def test_a_url_of_no_store_is_refused_with_a_remedy(url: str) -> None:
    with pytest.raises(ConfigError, match="sqlite:///") as refused:
        await open_store(url)
    assert "s3cret" not in str(refused.value)


async def test_a_file_that_is_no_database_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a database " * 100)
    with pytest.raises(ConfigError, match="not a database"):
        await open_store(f"sqlite:///{tmp_path}/notes.txt")
    with pytest.raises(ConfigError, match="cannot be opened"):
        await open_store(f"sqlite:///{tmp_path}/notes.txt/x.db")
    assert (tmp_path / "notes.txt").read_text().startswith("not a database")


async def test_a_server_that_is_not_there_is_busy() -> None:
    pytest.importorskip("asyncpg", reason="the extra `postgres` is not installed")
    with pytest.raises(ServiceBusy) as gone:
        await open_store("postgresql://u:s3cret@127.0.0.1:1/x")
    assert "s3cret" not in str(gone.value)


async def test_a_database_that_does_not_exist_is_for_a_person(postgres_url: str) -> None:
    with pytest.raises(ConfigError, match="does not exist"):
        await open_store(postgres_url.replace("memsif_test_", "absent_"))


async def test_a_server_that_stops_is_busy_and_serves_again_when_it_is_back() -> None:
    pytest.importorskip("asyncpg", reason="the extra `postgres` is not installed")
    programs = postgres_server.binaries()
    if programs is None:
        pytest.skip("no PostgreSQL server is installed")
    with postgres_server.Server(programs) as server:
        store = await open_store(server.url)
        row = await store.create("t", "c1")
        await store.accept(row.key, [message(0)], operation("a"))
        server.stop()
        for call in (store.messages(row.key), store.ping(), store.purge(), store.api_keys.tenants()):
            with pytest.raises(ServiceBusy):
                await call
        server.start()
        assert await store.messages(row.key) == [message(0)]
        await store.close()


async def test_connections_are_bounded(postgres_url: str) -> None:
    store = await open_store(postgres_url)
    row = await store.create("t", "c1")
    results = await asyncio.gather(
        *(store.accept(row.key, [message(i)], operation(str(i))) for i in range(60)), return_exceptions=True
    )
    assert [result for result in results if isinstance(result, MemsifError)] == []
    assert len(await store.messages(row.key)) == 60
    await store.close()
