"""Work done side by side comes back in order, and what is left of it ends when one part fails."""

import asyncio

import pytest

from memsif_ray.methods.together import together


async def test_results_keep_the_order_of_the_work():
    last_may_end = asyncio.Event()

    async def slow():
        await last_may_end.wait()
        return "slow"

    async def fast():
        last_may_end.set()
        return "fast"

    assert await together([slow(), fast()]) == ["slow", "fast"]
    assert await together([]) == []


async def test_a_failure_ends_the_rest_before_it_is_raised():
    ended = []

    async def endless():
        try:
            await asyncio.Event().wait()
        finally:
            await asyncio.sleep(0)
            ended.append("rest")

    async def fails():
        await asyncio.sleep(0)
        raise ValueError("one")

    with pytest.raises(ValueError, match="one"):
        await together([endless(), fails()])
    assert ended == ["rest"]
