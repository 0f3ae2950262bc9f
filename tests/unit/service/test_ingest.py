"""Writes: stored before acknowledged, in order, once (MC-07, MC-13, MC-26, MC-29)."""

import asyncio
from datetime import timedelta

import pytest

from memsif_ray.clients.scripted import reasonable
from memsif_ray.errors import Conflict, NotFound, ServiceBusy
from memsif_ray.memory.tools import CAPABLE
from memsif_ray.service.backend import Backend, Paging, ReportsLoad
from memsif_ray.service.models import OperationStatus
from tests.unit.service.serving import ME, Gated, said

ALL = Paging(limit=1000)
DOG = "I have a greyhound."
POSTS = [
    {"id": "m1", "name": "Rens", "timestamp": "2024-02-01T09:00:00Z", "content": "I love my greyhound."},
    {"id": "m2", "name": "Rens", "timestamp": "2024-02-01T09:01:00Z", "content": "I work at a bakery."},
    {"id": "m3", "name": "Rens", "timestamp": "2024-02-01T09:02:00Z", "content": "Comet hates rain."},
]


async def memories(service, status="all"):
    return (await service.memories(ME, "c1", ALL, status=status)).results


def test_it_is_a_backend(service):
    assert isinstance(service(), Backend) and isinstance(service(), ReportsLoad)


async def test_a_write_is_stored_at_once_and_digested_after(service):
    one = service()
    operation = await one.ingest(ME, said(DOG))
    assert operation.status is OperationStatus.PENDING and operation.accepted == 1
    (message,) = (await one.messages(ME, "c1", ALL)).results
    assert (message.content, message.id) == (DOG, operation.message_ids[0])
    done = await one.ingest(ME, said("I love oat milk.", wait=True))
    assert done.status is OperationStatus.DONE
    assert (await one.operation(ME, operation.id)).status is OperationStatus.DONE
    assert [m.text for m in await memories(one)] == ["user: I love oat milk."]


async def test_the_same_session_posted_again_changes_nothing(service):
    one = service()
    first = await one.ingest(ME, said(*POSTS, wait=True))
    before = await memories(one)
    assert first.accepted == 3 and before
    again = await one.ingest(ME, said(*POSTS, wait=True))
    assert (again.accepted, again.duplicates) == (0, 3)
    assert await memories(one) == before
    more = await one.ingest(ME, said(*POSTS, {"id": "m4", "content": "Comet is four."}, wait=True))
    assert (more.accepted, more.duplicates) == (1, 3)
    later = {**POSTS[0], "id": "m9", "timestamp": "2024-03-05T09:00:00Z"}
    await one.ingest(ME, said(later, wait=True))
    after = await memories(one)
    assert [m.id for m in after] == [m.id for m in before]  # evidence grows, no second fact comes
    assert after[0].message_ids == ("m1", "m9")


async def test_an_id_is_never_used_for_two_texts(service):
    one = service()
    await one.ingest(ME, said(*POSTS))
    with pytest.raises(Conflict, match="m1"):
        await one.ingest(ME, said({"id": "m1", "content": "Something else."}))
    assert len((await one.messages(ME, "c1", ALL)).results) == 3


async def test_ids_by_default_tell_a_repeated_post_from_a_repeated_word(service):
    one = service()
    dated = {"content": "Yes.", "timestamp": "2024-02-01T09:00:00Z"}
    first = await one.ingest(ME, said(dated, dated))
    assert len(set(first.message_ids)) == 2
    assert (await one.ingest(ME, said(dated, dated))).duplicates == 2
    assert (await one.ingest(ME, said("Yes."))).accepted == 1
    assert (await one.ingest(ME, said("Yes."))).accepted == 1  # said again, not sent again


async def test_an_idempotency_key_applies_once_and_only_to_one_request(service):
    one = service()
    first = await one.ingest(ME, said(DOG), idempotency_key="r1")
    again = await one.ingest(ME, said(DOG, wait=True), idempotency_key="r1")
    assert again.id == first.id and again.status is OperationStatus.DONE
    assert len((await one.messages(ME, "c1", ALL)).results) == 1
    with pytest.raises(Conflict):
        await one.ingest(ME, said("Another."), idempotency_key="r1")


async def test_a_dry_run_stores_nothing(service, store):
    one = service()
    would = await one.ingest(ME, said(*POSTS, dry_run=True))
    assert would.accepted == 3 and would.message_ids == ("m1", "m2", "m3")
    assert would.memories == ()
    assert await store.conversation("acme", "c1") is None


async def test_a_dry_run_that_waits_says_which_facts_would_be_written(service, store):
    one = service()
    would = await one.ingest(ME, said(*POSTS, dry_run=True, wait=True))
    assert await store.conversation("acme", "c1") is None
    assert would.memories and {m.id for m in would.memories} == {""}
    await one.ingest(ME, said(*POSTS, wait=True))
    unnamed = [m.model_copy(update={"id": "", "segment_ids": ()}) for m in await memories(one)]
    assert [m.model_copy(update={"segment_ids": ()}) for m in would.memories] == unnamed
    revision = (await store.conversation("acme", "c1")).revision
    again = {**POSTS[0], "id": "m9", "timestamp": "2024-03-05T09:00:00Z"}
    news = {**POSTS[0], "id": "m10", "content": "I love oat milk."}
    changed, added = (await one.ingest(ME, said(again, news, dry_run=True, wait=True))).memories
    assert changed.id == (await memories(one))[0].id and changed.message_ids == ("m1", "m9")
    assert (added.id, added.text, added.version) == ("", "Rens: I love oat milk.", 1)
    assert (await store.conversation("acme", "c1")).revision == revision
    assert len((await one.messages(ME, "c1", ALL)).results) == 3
    before = await one.usage(ME)
    await one.ingest(ME, said("Well.", dry_run=True, wait=True, conversation_id="other"))
    after = await one.usage(ME)
    assert (after.requests - before.requests, after.embedded_texts > before.embedded_texts) == (1, True)


async def test_a_dry_run_digests_what_waits_first_and_does_not_count_it(service):
    gate = asyncio.Event()
    one = service(embedder=Gated(gate))
    await one.ingest(ME, said(POSTS[0]))
    trying = asyncio.create_task(one.ingest(ME, said(POSTS[1], dry_run=True, wait=True)))
    gate.set()
    (would,) = (await trying).memories
    assert would.text == "Rens: I work at a bakery."


async def test_a_pause_of_more_than_six_hours_begins_a_session(service, clock):
    one = service()
    for hours in (0, 6, 6.1):
        clock.time += timedelta(hours=hours)
        await one.ingest(ME, said("Hello."))
    await one.ingest(ME, said({"content": "In a named one.", "session": "s"}))
    await one.ingest(ME, said("Hello."))
    await one.ingest(ME, said({"content": "In the named one again.", "session": "s"}))
    sessions = [m.session for m in (await one.messages(ME, "c1", ALL)).results]
    assert sessions == [1, 1, 2, 3, 4, 3]


@pytest.mark.parametrize("restarted", [False, True])
async def test_a_failed_write_is_kept_and_made_good_by_the_next(service, restarted):
    outage = [True]

    def script(request):
        return (
            ServiceBusy("model gone", "503")
            if outage[0] and request.stage == "extract"
            else reasonable(request)
        )

    one = service(script, CAPABLE)
    failed = await one.ingest(ME, said(DOG, wait=True))
    assert failed.status is OperationStatus.FAILED and "model gone" in failed.error
    waiting = await one.ingest(ME, said("My sister is Uma.", wait=True))
    outage[0] = False
    one = service(script, CAPABLE) if restarted else one
    assert (await one.retry(ME, waiting.id)).status is OperationStatus.PENDING
    await one.ingest(ME, said("My brother is Bo.", wait=True))
    for operation in (failed, waiting):
        assert (await one.operation(ME, operation.id)).status is OperationStatus.DONE
        with pytest.raises(Conflict):
            await one.retry(ME, operation.id)


async def test_a_write_that_has_not_begun_can_be_cancelled(service):
    gate = asyncio.Event()
    one = service(digests_in_flight=1, embedder=Gated(gate))
    first = await one.ingest(ME, said(DOG))
    second = await one.ingest(ME, said("My sister is Uma."))
    await asyncio.sleep(0.05)
    assert (await one.operation(ME, first.id)).status is OperationStatus.RUNNING
    with pytest.raises(Conflict):
        await one.cancel(ME, first.id)
    assert (await one.cancel(ME, second.id)).status is OperationStatus.CANCELLED
    gate.set()
    third = await one.ingest(ME, said("My brother is Bo.", wait=True))
    assert third.status is OperationStatus.DONE
    assert [m.content for m in (await one.messages(ME, "c1", ALL)).results] == [DOG, "My brother is Bo."]
    with pytest.raises(Conflict):
        await one.cancel(ME, third.id)


async def test_too_many_waiting_writes_are_refused_with_a_time_to_come_back(service):
    gate = asyncio.Event()
    one = service(max_queued=2, embedder=Gated(gate))
    for text in ("One.", "Two."):
        await one.ingest(ME, said(text))
    with pytest.raises(ServiceBusy) as refusal:
        await one.ingest(ME, said("Three."))
    assert refusal.value.retry_after_s
    gate.set()
    await one.close()


async def test_unknown_and_malformed_ids_are_not_found(service):
    one = service()
    for bad in ("mem_nope_core_00001", "../c1", "mem_k00001_core_00000", "", "mem_*_core_00000"):
        with pytest.raises(NotFound):
            await one.memory(ME, bad)
    with pytest.raises(NotFound):
        await one.operation(ME, "op_k_1")
    with pytest.raises(NotFound):
        await one.messages(ME, "c1", ALL)
