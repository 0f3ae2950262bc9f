"""A real PostgreSQL server for tests, in a folder that goes away with it, and databases on it."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import tempfile
import time
import uuid
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool


def binaries() -> Path | None:
    """The folder of `initdb` and `postgres`: on the path, or where Debian hides it."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


class Server:
    """Listens on a socket file only. Runs as another user where the tests run as root, which it refuses."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._user = "postgres" if os.getuid() == 0 else None
        self._folder = Path(tempfile.mkdtemp(prefix="memsif-pg-"))
        self.url = f"postgresql://memsif@/postgres?host={self._folder}"

    def __enter__(self) -> Server:
        if self._user:
            shutil.chown(self._folder, self._user)
        made = ["initdb", "-D", "data", "-A", "trust", "-U", "memsif", "-E", "UTF8", "--locale=C.UTF-8"]
        subprocess.run(
            [self._programs / made[0], *made[1:], "--no-sync"],
            user=self._user,
            cwd=self._folder,
            check=True,
            stdout=subprocess.DEVNULL,
        )
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def start(self) -> None:
        settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={self._folder}", "-F"]
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                [self._programs / "postgres", "-D", "data", *settings],
                user=self._user,
                cwd=self._folder,
                stderr=log,
            )
        for _ in range(300):
            ready = [self._programs / "pg_isready", "-q", "-h", self._folder]
            if subprocess.run(ready, check=False).returncode == 0:
                return
            time.sleep(0.1)
        raise RuntimeError((self._folder / "log").read_text())

    def stop(self) -> None:
        self._process.send_signal(signal.SIGINT)  # ends open connections, then itself
        self._process.wait(30)


@pytest.fixture(scope="session")
def postgres_admin() -> Iterator[str]:
    pytest.importorskip("asyncpg", reason="the extra `postgres` is not installed")
    given = os.environ.get("MEMSIF_TEST_POSTGRES_URL")
    programs = binaries()
    if given:
        yield given
    elif programs is None:
        pytest.skip("no PostgreSQL: install its server, or set MEMSIF_TEST_POSTGRES_URL")
    else:
        with Server(programs) as server:
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
