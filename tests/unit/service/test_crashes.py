"""A process that dies at any moment loses nothing it acknowledged, and applies nothing twice (MC-26)."""

import asyncio

import pytest

from memsif_ray.clients.scripted import reasonable
from memsif_ray.errors import MemsifError
from memsif_ray.memory.tools import CAPABLE, NO_MODEL
from memsif_ray.service.backend import Paging
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.models import AnswerRequest, OperationStatus
from memsif_ray.service.settings import ServiceConfig
from tests.unit.service.memory_store import InMemoryStore
from tests.unit.service.serving import ME, Clock, Gated, said, tools_of

ALL = Paging(limit=1000)
CONFIG = ServiceConfig(piece=2)
TEXTS = (
    "I have a greyhound.",
    "I love oat milk.",
    "My sister is Uma.",
    "I work at a bakery.",
    "I moved to Ghent.",
)


class DyingStore(InMemoryStore):
    """Its process dies at the n-th call: before it is made, or when it was, but nobody heard of it yet."""

    def __init__(self, now, *, dies_at, after):
        super().__init__(now)
        self.count, self.dies_at, self.after = 0, dies_at, after
        self.died = asyncio.Event()

    async def _begin(self, name):
        self.count += 1
        if self.count == self.dies_at and not self.after:
            await self._die()
        if self.dies_at < self.count or self.died.is_set():
            await self._die()
        await super()._begin(name)

    async def _die(self):
        self.died.set()
        await asyncio.get_running_loop().create_future()  # never comes back

    def __getattribute__(self, name):
        found = super().__getattribute__(name)
        if name.startswith("_") or not asyncio.iscoroutinefunction(found):
            return found

        async def call(*args, **more):
            result = await found(*args, **more)
            if self.count == self.dies_at and self.after:
                await self._die()
            return result

        return call


async def story(service, acknowledged):
    """What clients do; each write is known by its request id."""
    for number, text in enumerate(TEXTS[:3]):
        await service.ingest(ME, said(text), idempotency_key=f"r{number}")
        acknowledged.append(text)
    await service.ingest(ME, said(*TEXTS[3:], wait=True), idempotency_key="r3")
    acknowledged.extend(TEXTS[3:])
    for question in ("Where do I work?", "What does my sister do?"):
        await service.answer(ME, AnswerRequest(conversation_id="c1", question=question))


def survivor(dead, clock):
    """The same disk under a new process."""
    store = InMemoryStore(clock)
    vars(store).update({k: v for k, v in vars(dead).items() if k in vars(store)})
    return store


async def finished_story(store, clock, capabilities):
    service = Conversations(store, tools_of(reasonable, capabilities), CONFIG, clock)
    acknowledged = []
    await story(service, acknowledged)
    await service.close()
    return await store.conversation("acme", "c1")


@pytest.mark.parametrize("capabilities", [NO_MODEL, CAPABLE], ids=["rule", "llm"])
@pytest.mark.parametrize("after", [False, True], ids=["before", "after"])
async def test_whenever_the_process_dies_the_story_ends_the_same(after, capabilities):
    clock = Clock()
    whole = InMemoryStore(clock)
    row = await finished_story(whole, clock, capabilities)
    facts = {k: v for k, v in whole.kept[row.key].items() if k[0] != "clusters"}
    calls = len(whole.calls)
    for dies_at in range(1, calls + 1):
        dying = DyingStore(clock, dies_at=dies_at, after=after)
        service = Conversations(dying, tools_of(reasonable, capabilities), CONFIG, clock)
        acknowledged = []
        task = asyncio.create_task(story(service, acknowledged))
        await asyncio.wait(
            [task, asyncio.create_task(dying.died.wait())], return_when=asyncio.FIRST_COMPLETED
        )
        store = survivor(dying, clock)
        said_before = [m.content for m in store.said.get("k00001", ())]
        assert said_before[: len(acknowledged)] == acknowledged, dies_at
        row_again = await finished_story(store, clock, capabilities)
        assert [m.content for m in store.said[row_again.key]] == list(TEXTS), dies_at
        assert all(o.status is OperationStatus.DONE for o in store.operations.values()), dies_at
        kept = {k: v for k, v in store.kept[row_again.key].items() if k[0] != "clusters"}
        core = {k: v for k, v in kept.items() if not _asked(k)}
        assert core == {k: v for k, v in facts.items() if not _asked(k)}, dies_at
        dead = asyncio.all_tasks() - {asyncio.current_task()}
        for one in dead:
            one.cancel()
        await asyncio.gather(*dead, return_exceptions=True)


def _asked(name):
    """Rows that questions made: which were asked again after the crash."""
    return name[0] == "vectors" and name[1].split("/")[0] in ("statement", "query") or "active" in name[1]


async def test_a_restarted_service_takes_up_what_was_left(service):
    first = service(embedder=Gated(asyncio.Event()))  # never gets to the end of digesting
    operation = await first.ingest(ME, said(*TEXTS), idempotency_key="r1")
    second = service()
    assert await second.resume() == 1
    assert (await second.ingest(ME, said(*TEXTS, wait=True), idempotency_key="r1")).id == operation.id
    done = await second.operation(ME, operation.id)
    assert (done.status, done.accepted) == (OperationStatus.DONE, 5)
    assert await second.resume() == 0


async def test_a_known_conversation_is_never_empty_after_a_restart(service):
    first = service()
    await first.ingest(ME, said(*TEXTS, wait=True))
    known = await first.memories(ME, "c1", ALL)
    assert known.results
    assert await service().memories(ME, "c1", ALL) == known


async def test_when_the_database_is_gone_nothing_is_claimed_and_nothing_is_lost(clock):
    store = InMemoryStore(clock)
    service = Conversations(store, tools_of(), CONFIG, clock)
    await service.ingest(ME, said(TEXTS[0], wait=True))
    store.broken = True
    with pytest.raises(MemsifError):
        await service.ingest(ME, said(TEXTS[1]))
    store.broken = False
    operation = await service.ingest(ME, said(TEXTS[2]))
    store.broken = True
    with pytest.raises(MemsifError):
        await service.ingest(ME, said(TEXTS[1], wait=True))
    await asyncio.sleep(0.05)
    store.broken = False
    await service.ingest(ME, said(TEXTS[3], wait=True))
    assert (await service.operation(ME, operation.id)).status is OperationStatus.DONE
    assert [m.content for m in (await service.messages(ME, "c1", ALL)).results] == [
        TEXTS[0],
        TEXTS[2],
        TEXTS[3],
    ]


async def test_two_owners_of_one_conversation_never_lose_or_double_a_write(service):
    one, two = service(), service()
    for number, text in enumerate(TEXTS):
        await (one, two)[number % 2].ingest(ME, said({"id": f"m{number}", "content": text}, wait=True))
    third = service()
    assert [m.content for m in (await third.messages(ME, "c1", ALL)).results] == list(TEXTS)
    segments = (await third.segments(ME, "c1", ALL)).results
    assert [m for s in segments for m in s.message_ids] == [f"m{i}" for i in range(len(TEXTS))]
    alone = service()
    await alone.ingest(
        ME,
        said(
            *({"id": f"m{i}", "content": text} for i, text in enumerate(TEXTS)),
            conversation_id="alone",
            wait=True,
        ),
    )
    texts = [m.text for m in (await third.memories(ME, "c1", ALL)).results]
    assert sorted(texts) == sorted(m.text for m in (await alone.memories(ME, "alone", ALL)).results)
