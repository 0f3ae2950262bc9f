"""A Ray for all tests here, and a file of ten small conversations."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from memsif_ray.config import ExecutionConfig
from memsif_ray.runtime.session import ray_session
from tests.integration.scenario import CONVERSATIONS, conversation


@pytest.fixture(scope="session")
def local_ray() -> Iterator[None]:
    with ray_session(ExecutionConfig()):
        yield


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    """Vectors of a scripted embedder must not end up in anybody's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))


@pytest.fixture(scope="session")
def ten_conversations(tmp_path_factory) -> Path:
    """A LoCoMo file. Every message and question names its conversation, so a request tells whose it is."""
    path = tmp_path_factory.mktemp("data") / "ten.json"
    path.write_text(json.dumps([conversation(n) for n in range(CONVERSATIONS)]))
    return path
