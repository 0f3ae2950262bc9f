"""The pauses of a call, told by the flow itself: no server, no waiting."""

import random

import httpx
import pytest

from memsif_ray.api.client import RateLimitError, UnexpectedReplyError
from memsif_ray.api.client.flows import Call, Pause, Policy, Received, Send
from memsif_ray.api.client.listing import Listing
from memsif_ray.service.models import Operation, OperationStatus, Page, SourceMessage

GET = Call("GET", "/v1/operations/op_1", Operation, repeatable=True)
DONE = Received(
    200,
    {},
    b'{"id":"op_1","kind":"ingest","conversation_id":"a","status":"done",'
    b'"created_at":"2024-05-20T18:00:00Z","updated_at":"2024-05-20T18:00:00Z"}',
)


def pauses(outcomes, policy):
    """Seconds between the tries of a call that meets these outcomes."""
    flow, found = GET.flow(policy), []
    step, result = next(flow), None
    while result is None:
        try:
            if isinstance(step, Pause):
                found.append(step.seconds)
                step = flow.send(None)
            else:
                assert isinstance(step, Send)
                step = flow.send(outcomes.pop(0))
        except StopIteration as end:
            result = end.value
    assert result.status is OperationStatus.DONE
    return found


class Highest(random.Random):
    """Jitter at its upper end."""

    def uniform(self, a, b):
        return b


def test_pauses_double_up_to_the_cap():
    lost = httpx.ReadError("gone")
    policy = Policy(max_retries=6, base_s=1.0, cap_s=8.0, rng=Highest())
    assert pauses([lost] * 6 + [DONE], policy) == [1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_pauses_are_spread():
    seen = set()
    for seed in range(20):
        (pause,) = pauses([httpx.ReadError("gone"), DONE], Policy(base_s=1.0, rng=random.Random(seed)))
        assert 0 <= pause <= 1
        seen.add(pause)
    assert len(seen) == 20


def test_a_wish_is_never_undercut():
    busy = Received(429, {"retry-after": "7"}, b"")
    (pause,) = pauses([busy, DONE], Policy(base_s=1.0, rng=Highest()))
    assert pause == pytest.approx(7.2)


def test_no_try_begins_after_the_deadline():
    flow = GET.flow(Policy(timeout_s=3.0, base_s=4.0, rng=Highest()))
    next(flow)
    with pytest.raises(RateLimitError):
        flow.send(Received(429, {}, b""))


def test_a_list_that_goes_round_in_a_circle_is_noticed():
    listing = Listing.of("/v1/messages", Page[SourceMessage])
    second = listing.after(listing.first, Page(results=(), next_cursor="c"))
    assert second.query == {"cursor": "c"}
    with pytest.raises(UnexpectedReplyError, match="same page"):
        listing.after(second, Page(results=(), next_cursor="c"))
    assert listing.after(second, Page(results=())) is None
