"""A service in one process: scripted models, a clock that stands still until it is moved."""

import pytest

from memsif_ray.memory.tools import NO_MODEL
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.storage.sql import open_store
from tests.unit.service.memory_store import InMemoryStore
from tests.unit.service.serving import Clock, tools_of


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request, clock, tmp_path):
    if request.param == "memory":
        yield InMemoryStore(clock)
        return
    opened = await open_store(f"sqlite:///{tmp_path}/memsif.db", clock=clock)
    yield opened
    await opened.close()


@pytest.fixture
def service(store, clock):
    """Makes services over the same store."""

    def make(script=None, capabilities=NO_MODEL, embedder=None, **config):
        return Conversations(store, tools_of(script, capabilities, embedder), ServiceConfig(**config), clock)

    return make
