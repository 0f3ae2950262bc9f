"""The app over a small backend, and clients of two tenants."""

import contextlib

import httpx
import pytest

from memsif_ray.api.app import make_app
from memsif_ray.api.settings import ApiSettings
from memsif_ray.service.keys import KeyRow
from tests.unit.api.small_backend import NOW, SmallBackend

SECRETS = {"T1": "msk_one", "T2": "msk_two", "slow": "msk_slow", "revoked": "msk_gone"}


class FewKeys:
    """Implements what the app needs of a `KeyStore`."""

    rows = {
        "msk_one": KeyRow("key1", "T1", "", NOW),
        "msk_two": KeyRow("key2", "T2", "", NOW),
        "msk_slow": KeyRow("key3", "T1", "", NOW, per_minute=2),
        "msk_gone": KeyRow("key4", "T1", "", NOW, revoked_at=NOW),
    }

    async def key_of(self, secret):
        return self.rows.get(secret)


class Clock:
    """Seconds that a test lets pass."""

    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def backend():
    return SmallBackend()


@pytest.fixture
def clock():
    return Clock()


@contextlib.asynccontextmanager
async def client_of(app, secret=None, peer="127.0.0.1", host="localhost"):
    """An HTTP client whose requests reach the app without a socket."""
    headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
    transport = httpx.ASGITransport(app, client=(peer, 4711))
    async with httpx.AsyncClient(transport=transport, base_url=f"http://{host}", headers=headers) as client:
        yield client


@pytest.fixture
def app_with(backend, clock):
    """Make an app with other settings."""

    def make(keys=FewKeys, upstream=None, **settings):
        store = keys() if keys else None
        return make_app(backend, store, ApiSettings(**settings), upstream=upstream, clock=clock)

    return make


@pytest.fixture
async def amy(app_with):
    """A client of tenant T1."""
    async with client_of(app_with(), SECRETS["T1"]) as client:
        yield client
