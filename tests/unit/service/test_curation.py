"""Facts by hand, erasure, other tenants (MC-32), bundles, eviction, and what is stored of a change."""

import asyncio
from datetime import datetime

import pytest

from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.errors import Conflict, DataError, EmbedderMismatch, NotFound, ServiceBusy
from memsif_ray.service.backend import Caller, Paging
from memsif_ray.service.models import Bundle, MemoryChange, SearchRequest, Successor
from tests.unit.service.serving import ME, Gated, said

ALL = Paging(limit=1000)


async def filled(service, **config):
    one = service(**config)
    await one.ingest(ME, said("I love heron soup.", "I live in Ghent.", wait=True))
    return one, (await one.memories(ME, "c1", ALL)).results[0]


async def test_a_correction_is_an_update_with_a_version_to_agree_on(service):
    one, memory = await filled(service)
    changed = await one.change(ME, memory.id, MemoryChange(text="Loves soup"), if_version=memory.version)
    assert (changed.id, changed.text, changed.version) == (memory.id, "Loves soup", memory.version + 1)
    with pytest.raises(Conflict):
        await one.change(ME, memory.id, MemoryChange(text="No"), if_version=memory.version)
    assert [h.op for h in await one.history(ME, memory.id)] == ["Add", "Update"]
    assert await service().memory(ME, memory.id) == changed


async def test_a_successor_replaces_and_a_retraction_can_be_undone(service):
    one, memory = await filled(service)
    new = await one.supersede(ME, memory.id, Successor(text="Loves stew"))
    old = await one.memory(ME, memory.id)
    assert (old.status, old.replaced_by) == ("superseded", new.id)
    gone = await one.retract(ME, new.id)
    assert gone.status == "retracted" and new.id not in {
        m.id for m in (await one.memories(ME, "c1", ALL)).results
    }
    assert (await one.restore(ME, new.id)).status == "active"
    with pytest.raises(Conflict):
        await one.restore(ME, new.id)
    assert [h.op for h in await service().history(ME, new.id)] == ["Supersede", "Retract", "Restore"]
    assert {e.action for e in (await one.audit(ME, ALL)).results} >= {"supersede", "retract", "restore"}


async def test_provenance_goes_down_to_the_messages(service):
    one, memory = await filled(service)
    why = await one.provenance(ME, memory.id)
    assert [m.content for m in why.messages] == ["I love heron soup."]
    assert why.segments and why.segments[0].id == memory.segment_ids[0]


async def test_erasing_a_memory_leaves_no_trace_of_it_but_its_messages(service, store):
    one, memory = await filled(service)
    assert (await one.erase_memory(ME, memory.id, dry_run=True)).dry_run
    await one.memory(ME, memory.id)
    await one.erase_memory(ME, memory.id)
    for each in (one, service()):
        with pytest.raises(NotFound):
            await each.memory(ME, memory.id)
        assert len((await each.messages(ME, "c1", ALL)).results) == 2
    row = await store.conversation("acme", "c1")
    state = await store.state(row.key)
    assert "heron soup" not in repr([r.content for r in state if r.table != "messages"])
    assert not [r for r in state if r.key == f"fact/{memory.id.split('_', 2)[2]}"]


async def test_erasing_a_conversation_leaves_nothing_and_its_key_never_comes_back(service, store):
    one, memory = await filled(service)
    key = (await store.conversation("acme", "c1")).key
    assert (await one.erase_conversation(ME, "c1", dry_run=True)).messages == 2
    assert (await one.erase_conversation(ME, "c1")).memories >= 1
    with pytest.raises(NotFound):
        await one.memory(ME, memory.id)
    assert await store.messages(key) == [] and await store.state(key) == []
    await one.ingest(ME, said("A new start.", wait=True))
    assert (await store.conversation("acme", "c1")).key != key


async def test_another_tenant_sees_and_touches_nothing(service):
    one, memory = await filled(service)
    other = Caller("other")
    await one.ingest(other, said("I love lynx stew.", wait=True))
    operation = (await one.ingest(ME, said("More."))).id
    for caller, mine, theirs in ((ME, "heron", "lynx"), (other, "lynx", "heron")):
        found = await one.search(caller, SearchRequest(conversation_id="c1", query="love soup stew"))
        assert mine in repr(found) and theirs not in repr(found)
        assert theirs not in repr(await one.export(caller, "c1"))
    for attempt in (
        one.memory(other, memory.id),
        one.history(other, memory.id),
        one.provenance(other, memory.id),
        one.retract(other, memory.id),
        one.erase_memory(other, memory.id),
        one.change(other, memory.id, MemoryChange(text="mine")),
        one.operation(other, operation),
        one.cancel(other, operation),
    ):
        with pytest.raises(NotFound):
            await attempt
    for nobody in ("", " ", "*", "acme*"):
        with pytest.raises(DataError):
            await one.conversations(Caller(nobody), ALL)
        with pytest.raises(DataError):
            await one.ingest(Caller(nobody), said("Hello."))
    assert (await one.conversations(Caller("Acme"), ALL)).results == ()
    assert (await one.audit(other, ALL)).results[-1].action == "ingest"


async def test_a_bundle_carries_a_conversation_with_its_ids(service):
    one, memory = await filled(service)
    await one.ingest(ME, said({"content": "In a named one.", "session": "s"}, wait=True))
    bundle = Bundle.model_validate_json((await one.export(ME, "c1")).model_dump_json())
    with pytest.raises(Conflict):
        await one.import_(Caller("other"), bundle)  # its key is taken
    await one.erase_conversation(ME, "c1")
    other = service(embedder=HashEmbedder(32))
    with pytest.raises(EmbedderMismatch, match=r"hash-64.*hash-32"):
        await other.import_(ME, bundle)
    with pytest.raises(DataError):
        await one.import_(ME, bundle.model_copy(update={"key": "../etc"}))
    with pytest.raises(DataError):
        broken = {**bundle.state, "fact_operations": [{"key": "core/0", "content": {}, "vector": None}]}
        await one.import_(ME, bundle.model_copy(update={"state": broken}))
    assert (await one.import_(ME, bundle)).accepted == 3
    assert await one.memory(ME, memory.id) == memory
    assert await one.export(ME, "c1") == bundle
    later = await one.ingest(ME, said({"content": "There again.", "session": "s"}, wait=True))
    (last,) = [m for m in (await one.messages(ME, "c1", ALL)).results if m.id in later.message_ids]
    assert last.session == 2


async def test_stored_vectors_of_another_embedder_are_refused_and_stay(service):
    await filled(service)
    with pytest.raises(EmbedderMismatch):
        await service(embedder=HashEmbedder(32)).search(ME, SearchRequest(conversation_id="c1", query="soup"))
    assert (await service().memories(ME, "c1", ALL)).results


async def test_idle_conversations_are_let_go_of_and_come_back_identical(service, clock):
    one = service(max_live=2, idle_s=60)
    for name in ("c1", "c2"):
        await one.ingest(ME, said("I love soup.", "I live in Ghent.", conversation_id=name, wait=True))
    before = await one.export(ME, "c1"), (await one.memories(ME, "c1", ALL)).results
    await one.ingest(ME, said("I love tea.", conversation_id="c3", wait=True))
    assert (await one.load()).live_conversations == 2
    assert (await one.export(ME, "c1"), (await one.memories(ME, "c1", ALL)).results) == before
    clock.pass_by(seconds=61)
    await one.messages(ME, "c2", ALL)
    assert (await one.load()).live_conversations == 1


async def test_when_all_are_at_work_no_more_are_held(service):
    gate = asyncio.Event()
    one = service(max_live=1, embedder=Gated(gate))
    await one.ingest(ME, said("I love soup."))
    with pytest.raises(ServiceBusy):
        await one.ingest(ME, said("I love tea.", conversation_id="c2"))
    gate.set()
    await one.close()


async def test_one_more_message_stores_only_what_it_changed(service, store):
    one = service()
    texts = [f"I love soup number {n}, and the weather of day {n} was odd." for n in range(60)]
    await one.ingest(ME, said(*texts, wait=True))
    row = await store.conversation("acme", "c1")
    before = {(r.table, r.key): r for r in await store.state(row.key)}
    await one.ingest(ME, said("I live in Ghent.", wait=True))
    after = {(r.table, r.key): r for r in await store.state(row.key)}
    new = [name for name, r in after.items() if before.get(name) != r]
    assert 0 < len(new) <= 12 < len(before)
    live = next(iter(one._residents.all()))
    assert live._keeper.changes(live.memory).put == ()


async def test_a_row_of_a_time_zone_keeps_the_clock_on_the_wall(service):
    one = service()
    await one.ingest(
        ME, said({"content": "I love soup.", "timestamp": "2024-02-01T23:30:00+09:00"}, wait=True)
    )
    (message,) = (await one.messages(ME, "c1", ALL)).results
    assert message.timestamp == datetime(2024, 2, 1, 23, 30)
