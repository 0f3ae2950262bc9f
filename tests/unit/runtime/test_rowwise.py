"""Rows side by side: what a service fails is told, and a service that is gone is left alone."""

import asyncio

import pytest

from memsif_ray.errors import RequestRefused, ServiceBusy
from memsif_ray.runtime.rowwise import each


async def test_what_fails_leaves_the_others_alone():
    async def do(number):
        if number == 2:
            raise RequestRefused("too long")
        return number * 10

    found = await each(range(5), do)
    assert found.values == {0: 0, 1: 10, 3: 30, 4: 40}
    assert found.failures == {2: "RequestRefused: too long"}


async def test_after_three_busy_rows_in_a_row_the_rest_is_not_tried():
    tried = []

    async def do(number):
        tried.append(number)
        await asyncio.sleep(0)
        raise ServiceBusy("gone")

    found = await each(range(40), do)
    assert len(tried) < 20
    assert len(found.failures) == 40 and not found.values
    assert found.failures[39] == "not asked: ServiceBusy: gone"


async def test_a_bug_ends_all_rows_before_it_is_raised():
    ended = []

    async def do(number):
        try:
            await asyncio.sleep(0 if number == 0 else 60)
        finally:
            ended.append(number)
        raise KeyError("bug")

    with pytest.raises(KeyError):
        await each(range(3), do)
    assert sorted(ended) == [0, 1, 2]
