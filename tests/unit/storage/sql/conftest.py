"""The same tests for SQLite and PostgreSQL."""

from __future__ import annotations

import os
import uuid
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from memsif_ray.storage.sql import SqlStore, open_store
from tests.unit.storage.sql import postgres_server

NOW = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)


@pytest.fixture(scope="session")
def postgres_admin() -> Iterator[str]:
    pytest.importorskip("asyncpg", reason="the extra `postgres` is not installed")
    given = os.environ.get("MEMSIF_TEST_POSTGRES_URL")
    programs = postgres_server.binaries()
    if given:
        yield given
    elif programs is None:
        pytest.skip("no PostgreSQL: install its server, or set MEMSIF_TEST_POSTGRES_URL")
    else:
        with postgres_server.Server(programs) as server:
            yield server.url


@pytest.fixture
async def postgres_url(postgres_admin: str) -> AsyncIterator[str]:
    """An empty database of its own."""
    name = f"memsif_test_{uuid.uuid4().hex}"
    admin = make_url(postgres_admin).set(drivername="postgresql+asyncpg")
    engine = create_async_engine(admin, poolclass=NullPool, isolation_level="AUTOCOMMIT")
    async with engine.connect() as connection:
        await connection.execute(text(f'CREATE DATABASE "{name}"'))
    yield make_url(postgres_admin).set(database=name).render_as_string(hide_password=False)
    async with engine.connect() as connection:
        await connection.execute(text(f'DROP DATABASE "{name}" WITH (FORCE)'))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    return f"sqlite:///{tmp_path}/store/memsif.db"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    return str(request.getfixturevalue(f"{request.param}_url"))


@pytest.fixture
async def store(url: str) -> AsyncIterator[SqlStore]:
    opened = await open_store(url, clock=lambda: NOW)
    yield opened
    await opened.close()
