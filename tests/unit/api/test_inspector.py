"""What the inspector's files promise before a browser looks at them."""

import re

import httpx
import pytest

from memsif_ray.api.app import make_app
from memsif_ray.api.inspector import PAGE
from tests.unit.api.small_backend import SmallBackend

FILES = sorted(PAGE.iterdir())


@pytest.fixture
async def visitor():
    transport = httpx.ASGITransport(app=make_app(SmallBackend(), None), client=("127.0.0.1", 1))
    async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
        yield client


async def test_the_address_without_a_slash_leads_to_the_page(visitor):
    reply = await visitor.get("/inspector")
    assert (reply.status_code, reply.headers["location"]) == (308, "inspector/")


@pytest.mark.parametrize("name", ["", *(file.name for file in FILES)])
async def test_every_file_is_served_under_a_strict_policy(visitor, name):
    reply = await visitor.get(f"/inspector/{name}")
    assert reply.status_code == 200
    policy = reply.headers["content-security-policy"]
    assert policy.startswith("default-src 'self';") and "unsafe" not in policy
    assert reply.headers["x-content-type-options"] == "nosniff"


async def test_an_unchanged_file_is_not_sent_again(visitor):
    tag = (await visitor.get("/inspector/main.js")).headers["etag"]
    assert (await visitor.get("/inspector/main.js", headers={"If-None-Match": tag})).status_code == 304


@pytest.mark.parametrize("path", ["nothing.js", "..%2fapp.py", "%2e%2e/__init__.py", "../__init__.py"])
async def test_nothing_else_is_served(visitor, path):
    assert (await visitor.get(f"/inspector/{path}")).status_code == 404


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_no_file_names_another_place_or_makes_markup_of_text(file):
    text = file.read_text(encoding="utf-8").replace("http://www.w3.org/2000/svg", "")
    assert not re.search(
        r"https?://|//cdn|innerHTML|outerHTML|insertAdjacentHTML|document\.write|eval\(", text
    )


def test_the_page_has_no_inline_code_or_style():
    page = (PAGE / "index.html").read_text(encoding="utf-8")
    assert not re.search(r"<style|\bstyle=|\son\w+=|<script(?![^>]*\bsrc=)", page)
