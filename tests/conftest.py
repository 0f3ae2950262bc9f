"""Fixtures for every test."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

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
