"""The project's own app over a plain backend, on a real port."""

import pytest

from memsif_ray.api.app import make_app
from memsif_ray.api.client import Client
from tests.unit.api_client.faulty import served
from tests.unit.api_client.plain_backend import PlainBackend


@pytest.fixture
def backend():
    return PlainBackend()


@pytest.fixture
def url(backend):
    with served(make_app(backend, None)) as address:
        yield address


@pytest.fixture
def client(url):
    with Client(url) as one:
        yield one
