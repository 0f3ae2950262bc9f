"""Keys and limits of the project's own app, seen from a client."""

import pytest

from memsif_ray.api import client as api
from memsif_ray.api.app import make_app
from memsif_ray.api.client import Client
from memsif_ray.api.settings import ApiSettings
from memsif_ray.service.keys import KeyRow
from tests.unit.api_client.faulty import served
from tests.unit.api_client.plain_backend import START


class OneKey:
    """Implements what the app asks of a `KeyStore`."""

    async def key_of(self, secret):
        return KeyRow("key_1", "tenant-a", "test", START) if secret == "msk_right" else None


@pytest.fixture
def guarded(backend):
    with served(make_app(backend, OneKey(), ApiSettings(per_minute=2))) as address:
        yield address


def test_the_key_says_whose_memory_it_is(guarded, backend):
    with Client(guarded, "msk_right") as client:
        client.add("I have a dog.", conversation_id="amy")
    assert [(caller.tenant, caller.key_id) for caller in backend.callers] == [("tenant-a", "key_1")]


@pytest.mark.parametrize("key", [None, "msk_wrong", ""])
def test_a_wrong_key_is_refused_at_once(guarded, backend, monkeypatch, key):
    monkeypatch.delenv("MEMSIF_RAY_API_KEY", raising=False)
    with Client(guarded, key) as client, pytest.raises(api.AuthenticationError) as failed:
        client.add("I have a dog.", conversation_id="amy")
    assert (failed.value.status, failed.value.attempts) == (401, 1)
    assert not backend.callers


def test_a_rate_limit_says_when_to_come_back(guarded):
    with Client(guarded, "msk_right", max_retries=0) as client:
        list(client.conversations()), list(client.conversations())
        with pytest.raises(api.RateLimitError) as failed:
            list(client.conversations())
    assert failed.value.retry_after_s >= 1
