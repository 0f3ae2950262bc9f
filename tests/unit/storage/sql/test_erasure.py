"""Erased text is looked for, byte by byte, in every file of the database, while it is open."""

from __future__ import annotations

import random
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from memsif_ray.service.store import StateRow
from memsif_ray.storage.sql import SqlStore, open_store
from tests.unit.storage.sql.values import message, operation

CANARY = "Canary-7f3a9c"


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[SqlStore]:
    opened = await open_store(sqlite_url)
    yield opened
    await opened.close()


def found(folder: Path, text: str = CANARY) -> list[str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files
    return [path.name for path in files if text.encode() in path.read_bytes()]


@pytest.mark.parametrize("repeats", [1, 50, 2_000])
async def test_an_erased_conversation_leaves_no_byte(store: SqlStore, tmp_path: Path, repeats: int) -> None:
    row, other = await store.create("t", CANARY), await store.create("t", "other")
    given = message(0, CANARY * repeats, name=CANARY, message_id=CANARY, metadata={"x": CANARY})
    brought = operation("a", message_ids=(CANARY,), error=CANARY)
    await store.accept(row.key, [given], brought, idempotency=(CANARY, "digest"))
    vector = CANARY.encode() * repeats
    await store.save(row.key, revision=0, put=[StateRow("x", CANARY, {"text": CANARY * repeats}, vector)])
    await store.accept(other.key, [message(0)], operation("b", conversation_id="other"))
    assert found(tmp_path)
    await store.erase(row.key)
    assert found(tmp_path) == []
    assert await store.messages(other.key) == [message(0)]


@pytest.mark.parametrize("repeats", [1, 50, 2_000])
async def test_deleted_and_replaced_state_leaves_no_byte(
    store: SqlStore, tmp_path: Path, repeats: int
) -> None:
    row = await store.create("t", "c1")
    text = {"text": CANARY * repeats}
    await store.save(row.key, revision=0, put=[StateRow("x", "1", text), StateRow("x", "2", text)])
    assert found(tmp_path)
    await store.save(row.key, revision=1, put=[StateRow("x", "1", {"text": "else"})], delete=[("x", "2")])
    assert found(tmp_path) == []


async def test_withdrawn_messages_leave_no_byte(store: SqlStore, tmp_path: Path) -> None:
    row = await store.create("t", "c1")
    await store.accept(row.key, [message(0, CANARY)], operation("a"))
    assert found(tmp_path)
    await store.withdraw(operation("a"))
    assert found(tmp_path) == []


async def test_nothing_of_much_change_remains_after_a_purge(store: SqlStore, tmp_path: Path) -> None:
    """SQLite may leave copies of rows that it moved between pages; deleting alone misses some of them."""
    row = await store.create("t", "c1")
    draw = random.Random(0)  # of which deleting alone leaves two texts behind (SQLite 3.40)
    live: dict[str, str] = {}
    gone: set[str] = set()
    for revision in range(60):
        keys = [str(draw.randrange(80)) for _ in range(8)]
        fresh = {key: f"<{revision:03d}-{key:0>3}>" for key in keys}
        drop = draw.sample(sorted(live), min(len(live), 2))
        gone.update(live.pop(key) for key in drop)
        gone.update(live[key] for key in fresh if key in live)
        live.update(fresh)
        put = [StateRow("x", key, {"t": text * draw.choice([3, 20, 90, 400])}) for key, text in fresh.items()]
        await store.save(row.key, revision=revision, put=put, delete=[("x", key) for key in drop])
    await store.purge()
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert [text for text in sorted(gone) if text.encode() in files] == []
    assert all(text.encode() in files for text in live.values())


async def test_only_the_owner_may_read_the_files(store: SqlStore, tmp_path: Path) -> None:
    await store.create("t", "c1")
    files = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert {path.suffix for path in files} >= {".db", ".db-wal"}
    assert {path.stat().st_mode & 0o077 for path in files} == {0}
