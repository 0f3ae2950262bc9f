import asyncio
import random
from datetime import UTC, datetime

import pytest

from memsif_ray.clients.retries import RetryPolicy, retry_after_s
from memsif_ray.errors import RequestRefused, ServiceBusy

NOW = datetime(2026, 3, 1, 12, 0, 0, tzinfo=UTC)


class Pauses(list):
    """A clock nobody waits for: keeps the pauses that were asked for."""

    async def __call__(self, seconds):
        self.append(seconds)
        await asyncio.sleep(0)


def policy(pauses, **settings):
    return RetryPolicy(**{"deadline_s": 60.0, "sleep": pauses, "rng": random.Random(1), **settings})


def failing(*failures):
    left = list(failures)

    async def attempt():
        if left:
            raise left.pop(0)
        return "reply"

    return attempt


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("2", 2.0),
        ("0.25", 0.25),
        ("-3", 0.0),
        ("Sun, 01 Mar 2026 12:00:07 GMT", 7.0),
        ("Sun, 01 Mar 2026 11:00:00 GMT", 0.0),
        ("Sun, 01 Mar 2026 12:00:07 -0000", 7.0),
        ("soon", None),
        ("nan", None),
        ("inf", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(header, seconds):
    assert retry_after_s(header, NOW) == seconds


async def test_every_attempt_is_counted_and_the_servers_wish_is_kept():
    pauses = Pauses()
    attempt = failing(ServiceBusy("slow down", "rate", 2.0), ServiceBusy("slow down"), ServiceBusy("oops"))
    answered = await policy(pauses).run(attempt, slots=asyncio.Semaphore(1))
    assert answered == ("reply", 4)
    assert 2.0 <= pauses[0] <= 2.5
    assert all(0 <= pause <= 2.0 for pause in pauses[1:])


async def test_pauses_of_our_own_have_full_jitter_under_a_doubling_ceiling():
    pauses = Pauses()
    await policy(pauses, deadline_s=1e6, cap_s=3.0).run(
        failing(*[ServiceBusy("oops")] * 200), slots=asyncio.Semaphore(1)
    )
    assert all(pause <= min(3.0, 0.5 * 2**tries) for tries, pause in enumerate(pauses))
    assert min(pauses[5:]) < 0.3 and max(pauses[5:]) > 2.7


async def test_a_refused_request_is_sent_once():
    pauses = Pauses()
    with pytest.raises(RequestRefused) as caught:
        await policy(pauses).run(
            failing(RequestRefused("too long", "context_length_exceeded")), slots=asyncio.Semaphore(1)
        )
    assert (caught.value.attempts, pauses) == (1, [])


async def test_no_pause_is_begun_that_the_deadline_forbids():
    pauses = Pauses()
    with pytest.raises(ServiceBusy) as caught:
        await policy(pauses, deadline_s=5.0).run(
            failing(ServiceBusy("later", "rate", 100.0)), slots=asyncio.Semaphore(1)
        )
    assert (caught.value.retry_after_s, caught.value.attempts, pauses) == (100.0, 1, [])


async def test_a_hanging_try_ends_with_the_deadline():
    with pytest.raises(ServiceBusy, match="no reply within") as caught:
        await RetryPolicy(0.05).run(lambda: asyncio.sleep(30), slots=asyncio.Semaphore(1))
    assert caught.value.code == "timeout"


async def test_a_try_may_have_a_limit_of_its_own():
    tries = 0

    async def hangs_once():
        nonlocal tries
        tries += 1
        await asyncio.sleep(30 if tries == 1 else 0)
        return "reply"

    answered = await policy(Pauses(), attempt_s=0.02).run(hangs_once, slots=asyncio.Semaphore(1))
    assert answered == ("reply", 2)


async def test_a_call_that_backs_off_holds_no_slot():
    slots, order, woken = asyncio.Semaphore(1), [], asyncio.Event()

    async def paused(seconds):
        order.append("paused")
        await woken.wait()

    async def other():
        order.append("other")
        woken.set()

    patient = policy(paused).run(failing(ServiceBusy("busy")), slots=slots)
    await asyncio.wait_for(asyncio.gather(patient, policy(Pauses()).run(other, slots=slots)), timeout=5)
    assert order == ["paused", "other"]


async def test_queueing_for_a_slot_does_not_use_up_the_deadline():
    slots = asyncio.Semaphore(1)

    async def slow():
        await asyncio.sleep(0.08)
        return "reply"

    calls = [RetryPolicy(0.5).run(slow, slots=slots) for _ in range(10)]
    assert [answered.attempts for answered in await asyncio.gather(*calls)] == [1] * 10
