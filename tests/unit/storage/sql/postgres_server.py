"""A real PostgreSQL server for tests, in a folder that goes away with it."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def binaries() -> Path | None:
    """The folder of `initdb` and `postgres`: on the path, or where Debian hides it."""
    found = shutil.which("initdb")
    if found:
        return Path(found).resolve().parent
    return max(Path("/usr/lib/postgresql").glob("*/bin"), default=None)


@contextmanager
def running(programs: Path) -> Iterator[str]:
    """Start one that listens on a socket file only; gives the URL of its administrator."""
    # It refuses to run as root.
    user = "postgres" if os.getuid() == 0 else None
    folder = Path(tempfile.mkdtemp(prefix="memsif-pg-"))
    if user:
        shutil.chown(folder, user)
    try:
        data = folder / "data"
        made = [programs / "initdb", "-D", data, "-A", "trust", "-U", "memsif", "-E", "UTF8", "--no-sync"]
        subprocess.run(
            [*made, "--locale=C.UTF-8"], user=user, cwd=folder, check=True, stdout=subprocess.DEVNULL
        )
        settings = ["-c", "listen_addresses=", "-c", f"unix_socket_directories={folder}", "-F"]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [programs / "postgres", "-D", data, *settings], user=user, cwd=folder, stderr=log
            )
        try:
            _wait(programs, folder)
            yield f"postgresql://memsif@/postgres?host={folder}"
        finally:
            server.terminate()
            server.wait(30)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(programs: Path, folder: Path) -> None:
    for _ in range(300):
        if subprocess.run([programs / "pg_isready", "-q", "-h", folder]).returncode == 0:
            return
        time.sleep(0.1)
    raise RuntimeError((folder / "log").read_text())
