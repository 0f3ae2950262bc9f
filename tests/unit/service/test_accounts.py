"""Usage is written beside requests, not within them."""

import asyncio

import pytest

from memsif_ray.errors import ServiceBusy
from memsif_ray.service.accounts import EVERY, Accounts
from memsif_ray.service.counting import Counter
from tests.unit.service.memory_store import InMemoryStore
from tests.unit.service.serving import ME, Clock, said

TENANT = "acme"


class Held(InMemoryStore):
    """Takes usage when its gate is open, and fails while it is told to."""

    def __init__(self, clock):
        super().__init__(clock)
        self.gate, self.fails, self.begun = asyncio.Event(), False, asyncio.Event()

    async def add_usage(self, tenant, at, usage, *, requests=1):
        self.begun.set()
        await self.gate.wait()
        if self.fails:
            raise ServiceBusy("the store is away", "store")
        await super().add_usage(tenant, at, usage, requests=requests)


@pytest.fixture
def store(clock):
    return Held(clock)


async def requests_of(store):
    return (await store.usage(TENANT)).requests


async def test_no_request_waits_for_usage_to_be_written(service, store, clock):
    one = service()
    clock.pass_by(minutes=1)
    operation = await one.ingest(ME, said("I adopted a greyhound."))
    await asyncio.wait_for(store.begun.wait(), 60)
    assert operation.id and await requests_of(store) == 0
    store.gate.set()
    assert (await one.usage(ME)).requests == 1
    await one.close()


async def test_what_the_store_does_not_take_is_offered_again(clock, store, lines):
    accounts = Accounts(store, clock)
    store.gate.set()
    store.fails = True
    accounts.add(TENANT, Counter(model_calls=3), requests=1)
    clock.pass_by(seconds=EVERY.total_seconds())
    accounts.write_soon()
    with pytest.raises(ServiceBusy):
        await accounts.write()
    assert [line["event"] for line in lines()] == ["usage is not written yet"]
    accounts.add(TENANT, Counter(model_calls=1), requests=1)
    store.fails = False
    await accounts.write()
    used = await store.usage(TENANT)
    assert (used.requests, used.model_calls) == (2, 4)
    assert accounts.total.model_calls == 4


async def test_usage_is_not_written_before_it_is_due(store):
    clock = Clock()
    accounts = Accounts(store, clock)
    accounts.add(TENANT, Counter(), requests=1)
    accounts.write_soon()
    await asyncio.sleep(0)
    assert not store.begun.is_set()
