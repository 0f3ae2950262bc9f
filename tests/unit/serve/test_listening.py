"""A replica that listens by itself: says why it cannot, ends what has begun, has the port back at once."""

import asyncio
import socket

import httpx
import pytest
from fastapi import FastAPI
from pydantic import ValidationError

from memsif_ray.errors import ConfigError
from serve.listening import Address, Listener, free_port
from serve.memory_api import MemoryArgs


@pytest.fixture
def app():
    served = FastAPI()
    served.state.open = asyncio.Event()

    @served.get("/slow")
    async def slow():
        await served.state.open.wait()
        return "done"

    return served


async def test_what_has_begun_is_finished_and_the_port_is_free_again(app):
    at = Address(port=free_port("127.0.0.1"))
    listener = Listener(app, at)
    async with httpx.AsyncClient(base_url=f"http://{at.host}:{at.port}") as client:
        asked = asyncio.create_task(client.get("/slow"))
        await asyncio.sleep(0.2)
        closing = asyncio.create_task(listener.close())
        await asyncio.sleep(0.2)
        assert not listener.ended
        app.state.open.set()
        assert (await asked).json() == "done"
        await closing
    assert listener.ended
    again = Listener(app, at)  # though connections to the port have ended a moment ago
    async with httpx.AsyncClient(base_url=f"http://{at.host}:{at.port}") as client:
        assert (await client.get("/slow")).json() == "done"
    await again.close()


async def test_a_taken_address_is_said(app):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(ConfigError, match=f"127.0.0.1:{port}"):
            Listener(app, Address(port=port))


def test_one_address_is_for_one_replica():
    with pytest.raises(ValidationError, match="one replica"):
        MemoryArgs(listen=Address(port=8000), replicas=2)
