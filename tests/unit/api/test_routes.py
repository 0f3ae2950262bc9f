"""Every address does what the manual says."""

import pytest

from memsif_ray.api.app import make_app
from memsif_ray.api.settings import Replica
from memsif_ray.errors import EmbedderMismatch, RequestRefused, ServiceBusy, ServiceError
from memsif_ray.service.backend import Load
from tests.unit.api.conftest import SECRETS, FewKeys, client_of

TURNS = {
    "conversation_id": "c1",
    "messages": [{"content": "I like tea", "id": "a"}, {"content": "Noted", "role": "assistant", "id": "b"}],
}


async def remembered(client):
    reply = await client.post("/v1/memories", json=TURNS)
    assert reply.status_code == 202
    listed = await client.get("/v1/memories", params={"conversation_id": "c1"})
    return listed.json()["results"][0]["id"]


async def test_an_ingest_is_accepted_and_can_be_asked_about(amy):
    reply = await amy.post("/v1/memories", json=TURNS)
    assert reply.status_code == 202
    operation = reply.json()
    assert (operation["accepted"], operation["message_ids"]) == (2, ["a", "b"])
    assert reply.headers["location"] == f"/v1/operations/{operation['id']}"
    assert (await amy.get(reply.headers["location"])).json() == operation


async def test_a_text_will_do_and_waiting_answers_200(amy):
    reply = await amy.post("/v1/memories", json={"conversation_id": "c1", "messages": "hello", "wait": True})
    assert reply.status_code == 200 and reply.json()["status"] == "done"


async def test_a_dry_run_stores_nothing(amy):
    reply = await amy.post("/v1/memories", json={**TURNS, "dry_run": True})
    assert reply.status_code == 200 and reply.json()["accepted"] == 2
    assert "location" not in reply.headers
    assert (await amy.get("/v1/conversations")).json()["results"] == []


async def test_an_idempotency_key_applies_once(amy):
    body = {"conversation_id": "c1", "messages": "hello"}
    replies = [await amy.post("/v1/memories", json=body, headers={"Idempotency-Key": "k"}) for _ in range(2)]
    assert replies[0].json() == replies[1].json()
    other = await amy.post("/v1/memories", json={**body, "messages": "bye"}, headers={"Idempotency-Key": "k"})
    assert other.status_code == 409 and other.json()["error"]["code"] == "conflict"


async def test_a_batch_reports_each_part(amy):
    await amy.post("/v1/memories", json=TURNS)
    clash = {"conversation_id": "c1", "messages": [{"content": "I hate tea", "id": "a"}]}
    other = {"conversation_id": "c2", "messages": "hi"}
    reply = await amy.post("/v1/memories:batch", json={"requests": [clash, other, other]})
    assert reply.status_code == 202
    first, second, third = reply.json()["results"]
    assert reply.json()["failed"] == 1 and first["operation"] is None
    assert first["error"]["code"] == "conflict"
    assert (second["operation"]["message_ids"], third["operation"]["message_ids"]) == (["m0"], ["m1"])


async def test_search_and_answer(amy):
    await amy.post("/v1/memories", json=TURNS)
    found = await amy.post("/v1/search", json={"conversation_id": "c1", "query": "tea?", "top_k": 3})
    assert [result["text"] for result in found.json()["results"]] == ["I like tea"]
    assert found.json()["usage"]["prompt_tokens"] == 3
    answered = await amy.post("/v1/answer", json={"conversation_id": "c1", "question": "tea?"})
    assert answered.json()["answer"] == "Noted"


async def test_a_change_is_bound_to_a_version(amy):
    memory_id = await remembered(amy)
    address = f"/v1/memories/{memory_id}"
    assert (await amy.get(address)).headers["etag"] == '"1"'
    changed = await amy.patch(address, json={"text": "I like coffee"}, headers={"If-Match": '"1"'})
    assert changed.headers["etag"] == '"2"' and changed.json()["text"] == "I like coffee"
    late = await amy.patch(address, json={"text": "I like milk"}, headers={"If-Match": '"1"'})
    assert late.status_code == 409
    assert (await amy.patch(address, json={"text": "x"}, headers={"If-Match": "*"})).status_code == 200
    wrong = await amy.patch(address, json={"text": "x"}, headers={"If-Match": "W/abc"})
    assert wrong.status_code == 400 and wrong.json()["error"]["param"] == "If-Match"
    texts = [entry["text"] for entry in (await amy.get(f"{address}/history")).json()["results"]]
    assert texts == ["I like tea", "I like coffee", "x"]


async def test_retract_restore_supersede_erase(amy):
    address = f"/v1/memories/{await remembered(amy)}"
    kept = await amy.delete(address, params={"dry_run": "true"})
    assert kept.json()["status"] == "active"
    assert (await amy.delete(address)).json()["status"] == "retracted"
    assert (await amy.post(f"{address}/restore")).json()["status"] == "active"
    assert (await amy.post(f"{address}/restore")).status_code == 409
    new = await amy.post(f"{address}/supersede", json={"text": "I like milk"})
    assert (await amy.get(address)).json()["replaced_by"] == new.json()["id"]
    tried = await amy.delete(address, params={"hard": "true", "dry_run": "true"})
    assert tried.json() == {"messages": 0, "memories": 1, "dry_run": True}
    assert (await amy.get(address)).status_code == 200
    assert (await amy.delete(address, params={"hard": "true"})).json()["memories"] == 1
    assert (await amy.get(address)).status_code == 404


async def test_provenance_reaches_the_message(amy):
    memory_id = await remembered(amy)
    reply = await amy.get(f"/v1/memories/{memory_id}/provenance")
    assert [message["content"] for message in reply.json()["messages"]] == ["I like tea"]


async def test_lists_come_in_pages(amy):
    for name in "abc":
        await amy.post("/v1/memories", json={"conversation_id": name, "messages": "hi"})
    first = (await amy.get("/v1/conversations", params={"limit": 2})).json()
    rest = (await amy.get("/v1/conversations", params={"cursor": first["next_cursor"]})).json()
    names = [row["conversation_id"] for row in first["results"] + rest["results"]]
    assert names == ["a", "b", "c"] and rest["next_cursor"] is None
    assert (await amy.get("/v1/conversations", params={"limit": 1001})).status_code == 422


@pytest.mark.parametrize("name", ["segments", "trajectories", "candidates"])
async def test_structures_want_a_conversation(amy, name):
    await amy.post("/v1/memories", json=TURNS)
    assert (await amy.get(f"/v1/{name}", params={"conversation_id": "c1"})).json()["results"] == []
    assert (await amy.get(f"/v1/{name}", params={"conversation_id": "c9"})).status_code == 404
    assert (await amy.get(f"/v1/{name}")).json()["error"]["code"] == "bad_scope"


async def test_a_conversation_with_an_odd_name(amy):
    name = "amy & bob? 100% #1 日本"
    await amy.post("/v1/memories", json={"conversation_id": name, "messages": "hi"})
    quoted = "amy%20%26%20bob%3F%20100%25%20%231%20%E6%97%A5%E6%9C%AC"
    assert len((await amy.get(f"/v1/conversations/{quoted}/messages")).json()["results"]) == 1
    assert (await amy.delete(f"/v1/conversations/{quoted}?dry_run=true")).json()["dry_run"] is True
    assert (await amy.delete(f"/v1/conversations/{quoted}")).json()["messages"] == 1
    assert (await amy.delete(f"/v1/conversations/{quoted}")).status_code == 404


async def test_operations_are_cancelled_and_retried(amy):
    operation = (await amy.post("/v1/memories", json=TURNS)).json()
    address = f"/v1/operations/{operation['id']}"
    assert (await amy.post(f"{address}/cancel")).json()["status"] == "cancelled"
    assert (await amy.post(f"{address}/cancel")).status_code == 409
    assert (await amy.post(f"{address}/retry")).status_code == 409


async def test_a_bundle_travels(amy):
    await amy.post("/v1/memories", json=TURNS)
    bundle = (await amy.get("/v1/export", params={"conversation_id": "c1"})).json()
    assert (await amy.post("/v1/import", json=bundle)).status_code == 409
    taken = await amy.post("/v1/import", json={**bundle, "conversation_id": "c2"})
    assert taken.status_code == 202 and taken.json()["accepted"] == 2


async def test_usage_and_audit(amy):
    await amy.post("/v1/memories", json=TURNS, headers={"X-Request-ID": "mine-1"})
    assert (await amy.get("/v1/usage", params={"since": "2024-01-01T00:00:00"})).json()["requests"] == 2
    entries = (await amy.get("/v1/audit")).json()["results"]
    assert ("mine-1", "key1", "ingest") in [(e["request_id"], e["key_id"], e["action"]) for e in entries]


async def test_the_version_is_told(amy):
    reply = await amy.get("/version")
    assert reply.json()["api"] == reply.headers["api-version"] == "1.0"


@pytest.mark.parametrize(
    ("fault", "status", "code", "pause"),
    [
        (ServiceBusy("locked", "database"), 503, "database", "1"),
        (ServiceBusy("full", "queue_full", 2.3), 429, "queue_full", "3"),
        (ServiceBusy("slow", "timeout"), 504, "timeout", None),
        (RequestRefused("too long", "context_length_exceeded"), 400, "context_length_exceeded", None),
        (RequestRefused("no such model", "model_not_found"), 502, "model_not_found", None),
        (ServiceError("broken"), 502, "model_failed", None),
        (EmbedderMismatch("other vectors"), 409, "embedder_mismatch", None),
    ],
)
async def test_faults_of_the_backend_have_a_status(amy, backend, fault, status, code, pause):
    backend.fault = fault
    reply = await amy.post("/v1/search", json={"conversation_id": "c1", "query": "tea"})
    assert (reply.status_code, reply.json()["error"]["code"]) == (status, code)
    assert reply.headers.get("retry-after") == pause
    assert reply.json()["error"]["request_id"] == reply.headers["x-request-id"]


async def test_a_bug_is_a_500_in_the_same_shape(amy, backend):
    backend.fault = ZeroDivisionError("secret words")
    reply = await amy.post("/v1/search", json={"conversation_id": "c1", "query": "tea"})
    assert reply.status_code == 500
    assert reply.json()["error"]["type"] == "api_error" and "secret" not in reply.text


async def test_readiness_asks_the_backend_but_not_each_time(app_with, backend):
    async with client_of(app_with()) as nobody:
        assert (await nobody.get("/health/ready")).json() == {"status": "ready"}
        backend.fault = ServiceBusy("the embedder does not answer", "connection")
        assert (await nobody.get("/health/ready")).status_code == 200
        assert backend.asked == [("check", None)]
    async with client_of(app_with(ready_cache_s=0)) as nobody:
        reply = await nobody.get("/health/ready")
        assert reply.status_code == 503 and "embedder" in reply.json()["error"]["message"]
        assert (await nobody.get("/health/live")).status_code == 200


async def test_metrics_count_routes_and_not_people(app_with):
    app = app_with()
    async with client_of(app, SECRETS["T1"]) as amy:
        await amy.post("/v1/memories", json=TURNS)
        await amy.post("/v1/search", json={"conversation_id": "c1", "query": "tea"})
        await amy.get("/v1/memories/mem_unknown")
        text = (await amy.get("/metrics")).text
    assert 'memsif_requests_total{method="POST",route="/v1/memories",status="202"} 1.0' in text
    assert 'memsif_requests_total{method="GET",route="/v1/memories/{memory_id}",status="404"} 1.0' in text
    assert 'memsif_failures_total{code="not_found"} 1.0' in text
    assert 'memsif_request_tokens_total{kind="prompt"} 3.0' in text
    assert "memsif_live_conversations 1.0" in text and 'memsif_model_tokens{kind="prompt"} 11.0' in text
    assert "memsif_requests_in_flight 1.0" in text  # this one
    assert not any(word in text for word in ("T1", "key1", "c1", "tea"))


async def test_metrics_are_there_while_a_shard_restarts(app_with, backend):
    backend.busy = Load(1, 5, shards=2, shards_up=1)
    async with client_of(app_with()) as nobody:
        reply = await nobody.get("/metrics")
        assert reply.status_code == 200 and "memsif_shards_up 1.0" in reply.text
        assert "memsif_queued_writes" not in reply.text and "memsif_model_calls" not in reply.text
        backend.busy = Load(1, 5, shards=2, shards_up=2)
        text = (await nobody.get("/metrics")).text
        assert "memsif_shards_up 2.0" in text and "memsif_queued_writes 5.0" in text


async def test_numbers_of_several_servers_do_not_mix(backend):
    app = make_app(backend, FewKeys(), replica=Replica("r7", 2))
    async with client_of(app, SECRETS["T1"]) as amy:
        await amy.get("/v1/usage")
        text = (await amy.get("/metrics")).text
    assert 'memsif_requests_total{method="GET",replica="r7",route="/v1/usage",status="200"} 1.0' in text
    assert "memsif_shards_up 1.0" in text  # which is no server's own
