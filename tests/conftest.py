"""Fixtures for every test."""

import io
import json
import logging
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from memsif_ray.logs import log_as_json

pytest_plugins = ["tests.postgres_server"]  # here, so that a session starts one server

settings.register_profile("no-clock", deadline=None)  # machines are noisy: no test is about time
settings.load_profile("no-clock")

_ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """Folder with the published benchmark files: `MEMSIF_DATA`, or `../shared/data` beside the repository."""
    folder = Path(os.environ.get("MEMSIF_DATA", _ROOT.parent / "shared" / "data"))
    if not folder.is_dir():
        pytest.skip(f"no benchmark files at {folder}; set MEMSIF_DATA to their folder")
    return folder


@pytest.fixture
def lines() -> Iterator[Callable[[], list[dict[str, Any]]]]:
    """The process's log lines as a server writes them, as a function that reads them so far."""
    stream, root = io.StringIO(), logging.getLogger()
    before, level = root.handlers[:], root.level
    log_as_json(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    root.handlers[:] = before
    root.setLevel(level)
