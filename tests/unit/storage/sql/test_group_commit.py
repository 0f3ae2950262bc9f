"""Those who wait together share a commit, and neither failures nor acknowledgements."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import event

from memsif_ray.errors import Conflict, DataError, ServiceBusy
from memsif_ray.service.models import AuditEntry
from memsif_ray.storage.sql import SqlStore, open_store, sqlite
from tests.unit.storage.sql.values import message, operation


@pytest.fixture
async def store(sqlite_url: str) -> AsyncIterator[SqlStore]:
    opened = await open_store(sqlite_url)
    yield opened
    await opened.close()


def commits_of(store: SqlStore) -> list[object]:
    commits: list[object] = []
    event.listen(store._database._engine, "commit", commits.append)  # type: ignore[attr-defined]
    return commits


async def test_those_who_wait_together_share_a_commit(store: SqlStore) -> None:
    row = await store.create("t", "c1")
    commits = commits_of(store)
    await asyncio.gather(*(store.accept(row.key, [message(i)], operation(str(i))) for i in range(50)))
    assert len(await store.messages(row.key)) == 50
    assert len(commits) < 25  # the first goes alone, the others while it is on its way to the disk


async def test_one_that_fails_takes_no_other_along(store: SqlStore) -> None:
    row = await store.create("t", "c1")
    ends = await asyncio.gather(
        store.accept(row.key, [message(0)], operation("first")),
        store.accept(row.key, [message(1)], operation("a")),
        store.accept(row.key, [message(2), message(1, message_id="other")], operation("b")),  # place is taken
        store.accept(row.key, [message(3, name="\x00", message_id="")], operation("c")),  # no id at all
        store.accept("nowhere", [message(4)], operation("d")),
        store.accept(row.key, [message(5)], operation("e")),
        return_exceptions=True,
    )
    assert [type(end) for end in ends[2:5]] == [Conflict, DataError, Conflict]
    assert [stored.position for stored in await store.messages(row.key)] == [0, 1, 5]
    assert [one.id for one in await store.unfinished()] == ["op_first", "op_a", "op_e"]
    assert (await store.conversation("t", "c1")).messages == 3  # type: ignore[union-attr]


async def test_nobody_hears_of_success_when_the_commit_fails(
    sqlite_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "PATIENCE_S", 0.05)
    store = await open_store(sqlite_url)
    row = await store.create("t", "c1")
    other = sqlite3.connect(tmp_path / "store" / "memsif.db", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    ends = await asyncio.gather(
        *(store.accept(row.key, [message(i)], operation(str(i))) for i in range(20)), return_exceptions=True
    )
    other.close()
    assert {type(end) for end in ends} == {ServiceBusy}
    assert await store.messages(row.key) == []
    await store.close()


async def test_an_audit_entry_is_stored_with_what_it_tells_of(store: SqlStore) -> None:
    row = await store.create("t", "c1")
    entry = AuditEntry(
        at=datetime(2026, 1, 1, tzinfo=UTC), key_id="k", request_id="r", action="ingest", target=""
    )
    once = ("key", "digest")
    await store.accept(row.key, [message(0)], operation("a"), idempotency=once, audit=entry)
    await store.accept(row.key, [message(1)], operation("b"), idempotency=once, audit=entry)
    with pytest.raises(Conflict):
        await store.accept(row.key, [message(0, message_id="x")], operation("c"), audit=entry)
    told = [one.target for _, one in await store.audit("t", before=None, limit=10)]
    assert told == ["op_a", "op_a"]
