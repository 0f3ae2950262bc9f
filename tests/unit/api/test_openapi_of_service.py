"""The real service keeps to the manual too, down to the database."""

import contextlib

import httpx
import pytest
import schemathesis
from starlette.applications import Starlette

from tests.unit.api.test_openapi import APP, CHECKS, FEW_EXAMPLES
from tests.unit.api.test_whole_service import new_key, service_in
from tests.unit.api_client.faulty import served

SCHEMA = schemathesis.openapi.from_dict(APP.openapi())


@pytest.fixture(scope="module")
def service(tmp_path_factory):
    """Its address and somebody's key; on an event loop of its own, as in a server."""
    held = {}

    @contextlib.asynccontextmanager
    async def lifespan(_):
        async with service_in(tmp_path_factory.mktemp("store"), per_minute=10**9) as (app, keys):
            _, held["secret"] = await new_key(keys, "T1")
            held["app"] = app
            yield

    starting = Starlette(lifespan=lifespan)

    async def app(scope, receive, send):
        await (starting if scope["type"] == "lifespan" else held["app"])(scope, receive, send)

    with served(app) as url:
        yield url, held["secret"]


@SCHEMA.parametrize()
@FEW_EXAMPLES
def test_no_request_breaks_the_service_or_the_manual(service, case):
    url, secret = service
    case.call_and_validate(base_url=url, headers={"Authorization": f"Bearer {secret}"}, checks=CHECKS)


def test_the_manual_is_the_services_own(service):
    assert httpx.get(f"{service[0]}/openapi.json").json()["paths"] == APP.openapi()["paths"]
