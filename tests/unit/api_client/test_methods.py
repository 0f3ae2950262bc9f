"""Every method of both clients against the project's own app, over a real connection."""

import inspect
from datetime import UTC, datetime

import pytest

import memsif_ray
from memsif_ray.api import client as api
from memsif_ray.api.client import AsyncClient, Client
from memsif_ray.api.client.clients import AsyncOperations, Operations
from memsif_ray.service.models import IngestRequest, MessageIn, OperationStatus


def test_a_message_is_added_found_corrected_and_explained(client):
    messages = [
        "I have a dog.",
        {"content": "It is called Comet.", "role": "user"},
        MessageIn(content="Yes."),
    ]
    operation = client.add(messages, conversation_id="amy", wait=True)
    assert operation.accepted == 3
    found = client.search("called Comet.", conversation_id="amy", top_k=1)
    (hit,) = found.results
    assert hit.text == "It is called Comet."
    changed = client.update(hit.id, "It is called Komet.", if_version=1)
    assert (changed.text, changed.version) == ("It is called Komet.", 2)
    with pytest.raises(api.ConflictError):
        client.update(hit.id, "Nobody sees this.", if_version=1)
    assert [entry.op for entry in client.history(hit.id)] == ["Add", "Update"]
    assert [message.content for message in client.provenance(hit.id).messages] == ["It is called Comet."]
    assert client.answer("called Komet.", conversation_id="amy").answer == "It is called Komet."


def test_a_date_is_set_left_or_taken_away(client, backend):
    client.add("I live in Utrecht.", conversation_id="amy")
    (memory,) = client.list("amy")
    since = datetime(2024, 5, 1, tzinfo=UTC)
    assert client.update(memory.id, valid_from=since).valid_from == since
    assert client.update(memory.id, "I live in Delft.").valid_from == since
    assert client.update(memory.id, valid_from=None).valid_from is None


def test_deleting_can_be_undone_and_erasing_cannot(client):
    client.add("I have a dog.", conversation_id="amy")
    (memory,) = client.list("amy")
    assert client.delete(memory.id).status == "retracted"
    assert list(client.list("amy")) == []
    assert client.restore(memory.id).status == "active"
    with pytest.raises(api.ConflictError):
        client.restore(memory.id)
    new = client.supersede(memory.id, "I have a cat.")
    assert client.get(memory.id).replaced_by == new.id
    assert client.erase(new.id, dry_run=True).dry_run
    assert client.get(new.id).text == "I have a cat."
    assert client.erase(new.id).memories == 1
    with pytest.raises(api.NotFoundError):
        client.get(new.id)
    assert client.erase_conversation("amy", dry_run=True).messages == 2
    client.erase_conversation("amy")
    with pytest.raises(api.NotFoundError):
        list(client.messages("amy"))


def test_lists_come_whole_whatever_their_pages(client):
    client.add([f"fact {n}" for n in range(7)], conversation_id="amy")
    client.add("x", conversation_id="bob")
    assert [m.text for m in client.list("amy", page_size=3)] == [f"fact {n}" for n in range(7)]
    assert [m.position for m in client.messages("amy", page_size=2)] == list(range(7))
    assert len(list(client.segments("amy", page_size=7))) == 7
    assert [t.id for t in client.trajectories("amy")] == ["trj_1"]
    assert list(client.candidates("amy")) == []
    assert [c.conversation_id for c in client.conversations(page_size=1)] == ["amy", "bob"]
    assert len(list(client.audit(page_size=2))) == 3


def test_pages_are_fetched_as_they_are_read(client, backend):
    client.add([f"fact {n}" for n in range(9)], conversation_id="amy")
    listing = client.list("amy", page_size=2)
    assert next(listing).text == "fact 0"
    client.erase_conversation("amy")
    with pytest.raises(api.NotFoundError):
        list(listing)


def test_operations_are_waited_for_and_cancelled(client):
    operation = client.add("I have a dog.", conversation_id="amy")
    assert operation.status is OperationStatus.PENDING
    assert client.operations.wait(operation.id).status is OperationStatus.DONE
    with pytest.raises(api.ConflictError):
        client.operations.cancel(operation.id)
    with pytest.raises(api.ConflictError):
        client.operations.retry(operation.id)
    other = client.add("I have a cat.", conversation_id="amy")
    assert client.operations.cancel(other.id).status is OperationStatus.CANCELLED
    third = client.add("I have a bird.", conversation_id="amy")
    with pytest.raises(api.APITimeoutError, match="still pending"):
        client.operations.wait(third.id, timeout=0.05)
    assert client.operations.get(third.id).id == third.id


def test_a_batch_a_bundle_and_the_rest(client):
    batch = [IngestRequest(conversation_id=name, messages=["hello"]) for name in ("amy", "bob")]
    assert client.add_batch(batch).failed == 0
    bundle = client.export("amy")
    with pytest.raises(api.ConflictError):
        client.import_(bundle)
    client.erase_conversation("amy")
    assert client.import_(bundle).kind == "import"
    assert [m.content for m in client.messages("amy")] == ["hello"]
    assert client.usage(since=datetime(2024, 1, 1, tzinfo=UTC)).requests == 3
    assert client.health().status == "ready"


def test_a_repeated_key_applies_once(client, backend):
    first = client.add("I have a dog.", conversation_id="amy", idempotency_key="k-1")
    second = client.add("I have a dog.", conversation_id="amy", idempotency_key="k-1")
    assert first == second
    assert len(backend.kept["amy"].messages) == 1


def test_ids_with_signs_arrive_as_they_are(client, backend):
    name = "Zoë & co?#%2e 100%"
    client.add("hello", conversation_id=name)
    assert list(backend.kept) == [name]
    assert [m.content for m in client.messages(name)] == ["hello"]
    assert len(list(client.list(name))) == 1


def test_the_request_id_of_an_error_is_the_servers(client, backend):
    with pytest.raises(api.NotFoundError) as failed:
        client.get("mem_none")
    assert failed.value.code == "not_found"
    assert failed.value.request_id


async def test_the_asynchronous_client_does_the_same(url):
    async with AsyncClient(url) as client:
        operation = await client.add([f"fact {n}" for n in range(5)], conversation_id="amy")
        assert (await client.operations.wait(operation.id)).status is OperationStatus.DONE
        assert [m.text async for m in client.list("amy", page_size=2)] == [f"fact {n}" for n in range(5)]
        found = await client.search("fact 3", conversation_id="amy", top_k=1)
        assert found.results[0].text == "fact 3"
        with pytest.raises(api.NotFoundError):
            await client.get("mem_none")
        assert (await client.erase_conversation("amy")).messages == 5


@pytest.mark.parametrize(("one", "other"), [(Client, AsyncClient), (Operations, AsyncOperations)])
def test_both_clients_have_the_same_methods(one, other):
    def built(cls):
        return {name: value._build for name, value in vars(cls).items() if hasattr(value, "_build")}

    assert built(one) == built(other)
    assert built(one)


def test_a_method_looks_like_what_it_sends():
    with Client("http://127.0.0.1:9") as client:
        assert list(inspect.signature(client.search).parameters)[:2] == ["query", "conversation_id"]
        assert "best first" in inspect.getdoc(client.search)


def test_the_package_shows_both():
    assert memsif_ray.Client is Client
    assert memsif_ray.AsyncClient is AsyncClient
