"""Files that are either whole or absent."""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import uuid
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from memsif_ray.errors import ConfigError


def write_atomically(path: Path, write: Callable[[Path], None]) -> None:
    """Let `write` fill a draft beside `path`, then move it there in one step.

    A draft's name starts with a dot and ends in `.draft`, so no reader's pattern finds what a killed
    writer left behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{uuid.uuid4().hex}.draft")
    try:
        write(draft)
        with draft.open("rb") as stream:
            os.fsync(stream.fileno())
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:
    """Write plain data as JSON with sorted keys, whole or not at all."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=2, sort_keys=True) + "\n")


def write_text(path: Path, text: str) -> None:
    """Write text in UTF-8, whole or not at all."""

    def write(draft: Path) -> None:
        draft.write_text(text, encoding="utf-8")

    write_atomically(path, write)


def read_json(path: Path) -> Any:
    """The value of a JSON file; None when there is no such file."""
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return None


def sha256(path: Path) -> str:
    """Digest of a file's bytes."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


@contextmanager
def claimed(folder: Path) -> Iterator[None]:
    """Keep every other process from working in `folder`; the system lets go when this one dies.

    Raises:
        ConfigError: When another process works there.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as exc:
            raise ConfigError(f"another process is working in {folder}") from exc
        yield
