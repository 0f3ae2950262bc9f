"""The manual and all that it loads come from this server."""

import re

import pytest

from memsif_ray.api.manual import PAGE
from tests.unit.api.conftest import client_of

FILES = ["docs/swagger-ui.css", "docs/swagger-ui-bundle.js", "docs/start.js", "openapi.json"]


@pytest.fixture
async def visitor(app_with):
    """Somebody without a key."""
    async with client_of(app_with()) as client:
        yield client


async def test_the_page_names_only_what_this_server_has(visitor):
    page = await visitor.get("/docs")
    assert page.status_code == 200 and page.headers["content-type"].startswith("text/html")
    named = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert {*FILES} <= {*named, "openapi.json"}
    for name in named:
        assert (await visitor.get(f"/{name}")).status_code == 200, name


@pytest.mark.parametrize("name", ["docs", *FILES[:3]])
async def test_the_browser_is_told_to_load_nothing_else(visitor, name):
    policy = (await visitor.get(f"/{name}")).headers["content-security-policy"]
    assert policy.startswith("default-src 'self';") and "http" not in policy
    assert "script-src" not in policy  # so scripts are as strict as the rest


@pytest.mark.parametrize("path", ["nothing.js", "..%2f__init__.py", "../../app.py"])
async def test_nothing_else_is_served(visitor, path):
    assert (await visitor.get(f"/docs/{path}")).status_code in (401, 404)


def test_the_page_has_no_inline_code():
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"https?://|\son\w+=|<script(?![^>]*\bsrc=)", page)
