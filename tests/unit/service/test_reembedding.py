"""Another embedder over an existing store (MC-22): refused, until every vector is made anew."""

import pytest

from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.errors import EmbedderMismatch, ServiceBusy
from memsif_ray.service.backend import Paging
from memsif_ray.service.models import AnswerRequest, SearchRequest
from memsif_ray.service.reembedding import Reembedded, reembed
from memsif_ray.service.store import StateRow
from tests.unit.service.serving import ME, said

TENANTS = [ME.tenant]
ALL = Paging(limit=100)
TOLD = [
    {"id": "m1", "content": "I adopted a greyhound called Comet.", "name": "Amy", "session": "1"},
    {"id": "m2", "content": "Comet sleeps on the red sofa.", "name": "Amy", "session": "1"},
    {"id": "m3", "content": "I moved to Utrecht in May.", "name": "Bob", "session": "2"},
]


class Turned(HashEmbedder):
    """Every cosine is as before, and no number is where it was: what memory builds stays the same."""

    model_id = "turned-64"

    async def embed(self, texts):
        return (await super().embed(texts))[:, ::-1].copy()


class Tiring(HashEmbedder):
    """Fails after some calls."""

    def __init__(self, dim, calls):
        super().__init__(dim)
        self.calls = calls

    async def embed(self, texts):
        self.calls -= 1
        if self.calls < 0:
            raise ServiceBusy("no more today")
        return await super().embed(texts)


async def tell(one, conversation_id="c1"):
    await one.ingest(ME, said(*TOLD, conversation_id=conversation_id, wait=True))
    for question in ("What is the greyhound called?", "Where does Comet sleep?"):
        await one.answer(ME, AnswerRequest(conversation_id=conversation_id, question=question))


async def held(one, conversation_id="c1"):
    """All that is held of a conversation, without vectors."""
    lists = (one.memories, one.segments, one.trajectories, one.candidates)
    return [(await listing(ME, conversation_id, ALL)).results for listing in lists]


async def rows(store, conversation_id="c1"):
    row = await store.conversation(ME.tenant, conversation_id)
    return {(r.table, r.key): r for r in await store.state(row.key)}


@pytest.mark.parametrize("other", [HashEmbedder(32), Turned(64)], ids=["another size", "the same size"])
async def test_another_embedder_is_refused_with_both_names_and_the_remedy(service, store, other):
    await tell(service())
    before = await rows(store)
    changed = service(embedder=other)
    for request in (
        changed.search(ME, SearchRequest(conversation_id="c1", query="Comet")),
        changed.ingest(ME, said("More.", wait=True)),
    ):
        with pytest.raises(EmbedderMismatch, match="hash-64") as told:
            await request
        assert other.model_id in str(told.value) and "memsif reembed" in str(told.value)
    assert await rows(store) == before


async def test_what_is_made_anew_is_what_the_other_embedder_would_have_made(service, store):
    await tell(service())
    before, ids = await rows(store), await held(service())
    done = await reembed(store, TENANTS, Turned(64))
    assert done == Reembedded(1, 1, sum(table == "vectors" for table, _ in before))
    assert any(key.startswith("query/") for table, key in before if table == "vectors")
    after = await rows(store)
    assert after.keys() == before.keys()
    for key, row in after.items():
        if row.vector is None:
            assert row == before[key]
        else:
            turned = before[key].vector
            assert row.vector == b"".join(turned[i : i + 4] for i in range(len(turned) - 4, -4, -4)), key
    assert await held(service(embedder=Turned(64))) == ids


async def test_ids_and_answers_stay_under_an_embedder_of_another_size(service, store):
    await tell(service())
    ids = await held(service())
    await reembed(store, TENANTS, HashEmbedder(32))
    new = service(embedder=HashEmbedder(32))
    found = await new.search(ME, SearchRequest(conversation_id="c1", query="greyhound called Comet"))
    assert "Comet" in found.results[0].text
    assert [[one.id for one in many] for many in await held(new)] == [
        [one.id for one in many] for many in ids
    ]
    more = await new.ingest(ME, said({"id": "m4", "content": "Comet likes snow."}, wait=True))
    assert more.status == "done"


async def test_half_done_each_conversation_is_whole_and_the_rest_is_done_the_next_time(service, store):
    for name in ("a", "b", "c"):
        await tell(service(), name)
    with pytest.raises(ServiceBusy):
        await reembed(store, TENANTS, Tiring(32, 1))
    old, new = service(), service(embedder=HashEmbedder(32))
    for ours, other, names in ((new, old, "a"), (old, new, "bc")):
        for name in names:
            query = SearchRequest(conversation_id=name, query="greyhound Comet")
            assert (await ours.search(ME, query)).results
            with pytest.raises(EmbedderMismatch):
                await other.search(ME, query)
    assert (await reembed(store, TENANTS, HashEmbedder(32))).changed == 2
    assert (await reembed(store, TENANTS, HashEmbedder(32))) == Reembedded(3, 0, 0)


async def test_a_write_in_between_is_not_lost(service, store):
    await tell(service())
    row = await store.conversation(ME.tenant, "c1")

    class Meanwhile(HashEmbedder):
        wrote = False

        async def embed(self, texts):
            if not self.wrote:
                self.wrote = True
                now = await store.conversation(ME.tenant, "c1")
                await store.save(row.key, revision=now.revision, put=[StateRow("decisions", "x/1", {})])
            return await super().embed(texts)

    await reembed(store, TENANTS, Meanwhile(32))
    after = await rows(store)
    assert ("decisions", "x/1") in after
    assert {r.content["model_id"] for (table, _), r in after.items() if table == "vectors"} == {"hash-32"}
