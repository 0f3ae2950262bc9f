"""What comes from outside and must not get in: other tenants' names, wrong keys, odd and oversized bodies."""

import json
import logging

import httpx
import pytest

from tests.unit.api.conftest import SECRETS, client_of

SEARCH = {"conversation_id": "c1", "query": "vault word"}


@pytest.fixture
async def app(app_with):
    """Two tenants, both with a conversation `c1` that holds one secret."""
    app = app_with()
    for tenant, word in (("T1", "heron"), ("T2", "lynx")):
        async with client_of(app, SECRETS[tenant]) as client:
            body = {"conversation_id": "c1", "messages": f"Amy's vault word is {word}"}
            assert (await client.post("/v1/memories", json=body)).status_code == 202
    return app


async def search(app, secret, **changes):
    async with client_of(app, secret) as client:
        return await client.post("/v1/search", json={**SEARCH, **changes})


@pytest.mark.parametrize(("tenant", "word", "other"), [("T1", "heron", "lynx"), ("T2", "lynx", "heron")])
async def test_each_tenant_finds_its_own_secret(app, tenant, word, other):
    found = (await search(app, SECRETS[tenant])).text
    assert word in found and other not in found


@pytest.mark.parametrize("field", ["tenant", "tenant_id"])
async def test_a_tenant_in_the_request_is_refused(app, field):
    refused = await search(app, SECRETS["T1"], **{field: "T2"})
    assert refused.status_code == 403 and refused.json()["error"]["param"] == field
    async with client_of(app, SECRETS["T1"]) as client:
        asked = {"conversation_id": "c1", field: "T2"}
        assert (await client.get("/v1/memories", params=asked)).status_code == 403


@pytest.mark.parametrize("secret", [None, "", "*", "t1", "T1", "msk_gone", "msk_one x", "x" * 600])
async def test_no_key_no_memory(app, secret):
    async with client_of(app) as client:
        headers = {} if secret is None else {"Authorization": f"Bearer {secret}"}
        reply = await client.post("/v1/search", json=SEARCH, headers=headers)
    assert reply.status_code == 401 and reply.headers["www-authenticate"] == "Bearer"
    error = reply.json()["error"]
    assert (error["type"], error["code"]) == ("authentication_error", "invalid_api_key")
    assert error["message"] == "a valid API key is needed: Authorization: Bearer msk_…"


async def test_two_keys_are_none(app):
    async with client_of(app) as client:
        headers = [("Authorization", "Bearer msk_one"), ("Authorization", "Bearer msk_two")]
        assert (await client.post("/v1/search", json=SEARCH, headers=headers)).status_code == 401


@pytest.mark.parametrize(
    ("conversation", "status"),
    [("", 422), ("../T2/c1", 422), (["c1", "c2"], 422), ("*", 400), ("c*", 400), (None, 422), ("c1\0", 422)]
    + [({"$ne": ""}, 422), ("..", 422), ("c1/../../T2", 422), ("..\\T2\\c1", 422), ("\ud800", 422)],
)
async def test_a_forged_scope_is_refused(app, conversation, status):
    async with client_of(app, SECRETS["T1"]) as client:
        body = json.dumps({**SEARCH, "conversation_id": conversation})
        reply = await client.post("/v1/search", content=body, headers={"Content-Type": "application/json"})
    assert reply.status_code == status and "lynx" not in reply.text and "heron" not in reply.text


async def test_a_missing_scope_is_refused_everywhere(app, backend):
    asked = len(backend.asked)
    async with client_of(app, SECRETS["T1"]) as client:
        for path in ("memories", "segments", "trajectories", "candidates", "export"):
            reply = await client.get(f"/v1/{path}")
            assert (reply.status_code, reply.json()["error"]["code"]) == (400, "bad_scope")
        assert (await client.post("/v1/search", json={"query": "x"})).status_code == 400
        for path in ("conversations", "memories"):  # nothing deletes everything
            assert (await client.delete(f"/v1/{path}")).status_code == 405
        assert (await client.delete("/v1/conversations/")).status_code == 404
        assert (await client.delete("/v1/conversations/%2A")).status_code == 400
    assert len(backend.asked) == asked


@pytest.mark.parametrize("method", ["get", "patch", "delete"])
async def test_another_tenants_memory_does_not_exist(app, method):
    async with client_of(app, SECRETS["T2"]) as owner:
        listed = await owner.get("/v1/memories", params={"conversation_id": "c1"})
        foreign = listed.json()["results"][0]["id"]
    body = {"json": {"text": "mine now"}} if method == "patch" else {}
    async with client_of(app, SECRETS["T1"]) as client:
        replies = [await client.request(method, f"/v1/memories/{i}", **body) for i in (foreign, "mem_none")]
    errors = [{**reply.json()["error"], "request_id": ""} for reply in replies]
    assert [reply.status_code for reply in replies] == [404, 404] and errors[0] == errors[1]


@pytest.mark.parametrize(
    "path",
    [
        "..%2F..%2Fetc%2Fpasswd",
        "mem_%00",
        "'; DROP TABLE memories;--",
        "%2e%2e",
        "a" * 300,
        "mem_1%0d%0aX: y",
    ],
)
async def test_odd_ids_are_refused(app, backend, path):
    asked = len(backend.asked)
    async with client_of(app, SECRETS["T1"]) as client:
        reply = await client.get(httpx.URL(f"http://localhost/v1/memories/{path}"))
    assert reply.status_code in (404, 422) and "error" in reply.json()
    assert len(backend.asked) == asked


@pytest.mark.parametrize(
    ("body", "word"),
    [
        (b'{"conversation_id": "c1"', "not JSON"),
        (b'{"conversation_id": "c1", "query": "\xff"}', "UTF-8"),
        (b"\xff\xfe" + '{"conversation_id": "c1"}'.encode("utf-16-le"), "UTF-8"),
        (b"[" * 100_000, "nested"),
        (b'{"conversation_id": "c1", "query": ' + b"[" * 50 + b"]" * 50 + b"}", "nested"),
        (b'{"conversation_id": "c1", "query": "q", "top_k": ' + b"9" * 100_000 + b"}", "too large"),
        (b'{"conversation_id": "c1", "query": "q", "top_k": 1e999}', "too large"),
        (b'{"conversation_id": "c1", "query": "q", "top_k": NaN}', "no JSON number"),
        (b'{"conversation_id": "c1", "query": "q", "conversation_id": "c2"}', "twice"),
        (b'{"conversation_id": "c1", "query": "q", "topk": 3}', "topk"),
        (b'{"conversation_id": "c1", "query": " \\u200b\\n"}', "say something"),
        (b'{"conversation_id": "c1", "query": "q", "top_k": 3, "max_tokens": 5}', "not both"),
        (b"null", "valid"),
        (b"", "required"),
    ],
)
async def test_a_body_that_is_not_what_it_should_be(app, body, word):
    async with client_of(app, SECRETS["T1"]) as client:
        headers = {"Content-Type": "application/json"}
        reply = await client.post("/v1/search", content=body, headers=headers)
    assert reply.status_code == 422 and word in reply.json()["error"]["message"]


async def test_a_body_that_does_not_say_it_is_json(app):
    async with client_of(app, SECRETS["T1"]) as client:
        headers = {"Content-Type": "text/plain"}
        assert (await client.post("/v1/search", content=b"{}", headers=headers)).status_code == 422


async def test_blank_content_changes_nothing(app):
    async with client_of(app, SECRETS["T1"]) as client:
        for content in ("", " \n", "\u200b", "\u00a0"):
            messages = [{"content": "fine"}, {"content": content}]
            reply = await client.post("/v1/memories", json={"conversation_id": "c1", "messages": messages})
            assert reply.status_code == 422 and reply.json()["error"]["param"] == "messages.1.content"
        kept = await client.get("/v1/conversations/c1/messages")
        assert len(kept.json()["results"]) == 1


async def test_half_characters_and_nul_are_repaired(app):
    body = rb'{"conversation_id": "c3", "messages": ["half \ud83c", "\ud83c\udf78", "nul \u0000", "plain"]}'
    async with client_of(app, SECRETS["T1"]) as client:
        headers = {"Content-Type": "application/json"}
        assert (await client.post("/v1/memories", content=body, headers=headers)).status_code == 202
        kept = await client.get("/v1/conversations/c3/messages")
    texts = [message["content"] for message in kept.json()["results"]]
    assert texts == ["half \ufffd", "\U0001f378", "nul ", "plain"]


async def test_a_misspelt_parameter_is_no_silence(app, backend):
    async with client_of(app, SECRETS["T1"]) as client:
        reply = await client.delete("/v1/conversations/c1", params={"dryrun": "true"})
        assert reply.status_code == 422 and "dryrun" in reply.json()["error"]["message"]
        assert (await client.get("/v1/conversations/c1/messages")).status_code == 200


async def chunks_of(size, seen):
    for _ in range(1000):
        seen.append(size)
        yield b"x" * size


async def test_a_chunked_body_is_counted_as_it_comes(app_with):
    seen = []
    async with client_of(app_with(max_body_bytes=1000), SECRETS["T1"]) as client:
        headers = {"Content-Type": "application/json"}
        reply = await client.post("/v1/search", content=chunks_of(300, seen), headers=headers)
        assert reply.status_code == 413 and reply.json()["error"]["code"] == "body_too_large"
        assert len(seen) == 4  # the rest is never asked for
        liar = {**headers, "Content-Length": "2"}
        reply = await client.post("/v1/search", content=chunks_of(300, seen), headers=liar)
        assert reply.status_code == 413


@pytest.mark.parametrize("length", ["1001", "-1", "many", "9" * 40])
async def test_an_announced_body_is_refused_unread(app_with, length):
    seen = []
    async with client_of(app_with(max_body_bytes=1000), SECRETS["T1"]) as client:
        headers = {"Content-Type": "application/json", "Content-Length": length}
        reply = await client.post("/v1/search", content=chunks_of(300, seen), headers=headers)
    assert reply.status_code == 413 and seen == []


async def test_a_tenant_may_have_another_limit(app_with):
    app = app_with(max_body_bytes=100, tenants={"T2": {"max_body_bytes": 1000}})
    body = {"conversation_id": "c1", "query": "long " * 50}
    statuses = []
    for tenant in ("T1", "T2"):
        async with client_of(app, SECRETS[tenant]) as client:
            statuses.append((await client.post("/v1/search", json=body)).status_code)
    assert statuses == [413, 200]


async def test_a_strangers_body_is_not_read(app_with):
    seen = []
    async with client_of(app_with()) as nobody:
        reply = await nobody.post("/v1/import", content=chunks_of(300, seen))
    assert reply.status_code == 401 and seen == []


async def test_huge_headers_and_addresses(app):
    async with client_of(app, SECRETS["T1"]) as client:
        assert (await client.get("/v1/usage", headers={"X-Much": "y" * 20_000})).status_code == 431
        assert (await client.get("/v1/usage", params={"since": "z" * 20_000})).status_code == 431


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/v1/nothing", 404), ("PUT", "/v1/search", 405), ("GET", "/v1/chat/completions", 404)],
)
async def test_unknown_routes_have_the_same_shape(app, method, path, status):
    async with client_of(app, SECRETS["T1"]) as client:
        reply = await client.request(method, path)
    assert reply.status_code == status and set(reply.json()) == {"error"}
    assert (await strangers_reply(app, path)).status_code == 401  # what there is, is told to keys only


async def strangers_reply(app, path):
    async with client_of(app) as nobody:
        return await nobody.get(path)


async def test_request_ids_are_mirrored_when_sane(app):
    async with client_of(app, SECRETS["T1"]) as client:
        assert (await client.get("/version", headers={"X-Request-ID": "a-1.b:2"})).headers[
            "x-request-id"
        ] == "a-1.b:2"
        for odd in ("a b", "x" * 200, '"}{', "é"):
            made = (await client.get("/version", headers={"X-Request-ID": odd.encode()})).headers
            assert made["x-request-id"].startswith("req_")


@pytest.mark.parametrize("peer", ["10.0.0.7", "192.168.1.2", "2001:db8::1", "testclient", ""])
async def test_development_mode_serves_this_machine_only(app_with, peer):
    async with client_of(app_with(keys=None), peer=peer) as client:
        for path in ("/v1/usage", "/health/live", "/docs", "/nothing"):
            reply = await client.get(path)
            assert (reply.status_code, reply.json()["error"]["code"]) == (403, "local_only")


@pytest.mark.parametrize("peer", ["127.0.0.1", "127.8.8.8", "::1", "::ffff:127.0.0.1"])
async def test_development_mode_needs_no_key(app_with, peer):
    async with client_of(app_with(keys=None), peer=peer) as client:
        assert (await client.get("/v1/usage")).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        {"X-Forwarded-For": "203.0.113.9"},
        {"X-Forwarded-For": "127.0.0.1, 203.0.113.9"},
        {"Forwarded": "for=203.0.113.9"},
        {"Origin": "https://evil.example"},
        {"Origin": "null"},
        {"Host": "evil.example"},
        {"Host": "localhost.evil.example"},
        {"Host": "[::1"},
    ],
)
async def test_development_mode_refuses_proxies_and_web_pages(app_with, headers):
    async with client_of(app_with(keys=None)) as client:
        assert (await client.get("/v1/usage", headers=headers)).status_code in (400, 403)


async def test_development_mode_takes_local_names(app_with):
    async with client_of(app_with(keys=None)) as client:
        for host in ("localhost:8000", "127.0.0.1:8000", "[::1]:8000", "LOCALHOST"):
            headers = {"Host": host, "Origin": "http://localhost:8000"}
            assert (await client.get("/v1/usage", headers=headers)).status_code == 200


async def test_development_mode_says_so(app_with, caplog):
    app = app_with(keys=None)
    with caplog.at_level(logging.WARNING):
        async with app.router.lifespan_context(app):
            pass
    assert "development mode: no keys, so only this machine is served" in caplog.messages


async def test_pages_of_the_web_may_read_only_when_named(app_with):
    ask = {"Origin": "https://app.example", "Access-Control-Request-Method": "POST"}
    async with client_of(app_with(), SECRETS["T1"]) as client:
        reply = await client.options("/v1/search", headers=ask)
        assert "access-control-allow-origin" not in reply.headers
    async with client_of(app_with(cors_origins=("https://app.example",))) as client:
        reply = await client.options("/v1/search", headers=ask)
        assert reply.headers["access-control-allow-origin"] == "https://app.example"
    with pytest.raises(ValueError, match="name the pages"):
        app_with(cors_origins=("*",))
