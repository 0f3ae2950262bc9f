"""The OpenAPI document is a good manual, and the server keeps to it whatever it is sent."""

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from memsif_ray.api.app import make_app
from memsif_ray.api.settings import ApiSettings
from memsif_ray.clients.scripted import HashEmbedder
from tests.unit.api.conftest import SECRETS, FewKeys
from tests.unit.api.small_backend import SmallBackend
from tests.unit.api.test_chat import Parrot

APP = make_app(
    SmallBackend(),
    FewKeys(),
    ApiSettings(per_minute=10**9),
    upstream=Parrot(),
    embedder=HashEmbedder(8),
)
SCHEMA = schemathesis.openapi.from_asgi("/openapi.json", APP)
CHECKS = [not_a_server_error, content_type_conformance, response_headers_conformance]
CHECKS += [response_schema_conformance, status_code_conformance]


FEW_EXAMPLES = settings(
    max_examples=8,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@SCHEMA.parametrize()
@FEW_EXAMPLES
def test_no_request_breaks_the_server_or_the_manual(case):
    case.call_and_validate(headers={"Authorization": f"Bearer {SECRETS['T1']}"}, checks=CHECKS)


def operations():
    for path, methods in APP.openapi()["paths"].items():
        for method, operation in methods.items():
            yield pytest.param(operation, path, id=f"{method} {path}")


@pytest.mark.parametrize(("operation", "path"), operations())
def test_every_route_is_explained(operation, path):
    assert operation["summary"] and operation["description"].strip() and operation["tags"]
    assert all("description" in reply for reply in operation["responses"].values())
    if path.startswith("/v1/"):
        assert operation["security"] == [{"HTTPBearer": []}]
        assert operation["responses"]["401"]["content"]["application/json"]["schema"] == {
            "$ref": "#/components/schemas/ErrorOut"
        }


def test_the_manual_promises_no_more_erasure_than_each_database_gives():
    manual = {param.id: param.values[0]["description"] for param in operations()}
    assert "PostgreSQL" in manual["delete /v1/conversations/{conversation_id}"]
    assert not [name for name, text in manual.items() if "no byte" in text and "SQLite" not in text]


def test_ids_of_operations_are_unique_and_stable():
    ids = [param.values[0]["operationId"] for param in operations()]
    assert len(set(ids)) == len(ids) and "ingest" in ids and "search" in ids
