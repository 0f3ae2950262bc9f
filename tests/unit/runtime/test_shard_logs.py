"""Log lines of a shard are JSON with the id of the request that caused them."""

import io
import json
import logging

import pytest

from memsif_ray.runtime.memory_shards import MemoryShard, ShardsConfig
from memsif_ray.service.backend import Caller


class Telling:
    """Stands where the conversations of a shard are."""

    async def search(self, caller, *, query):
        logging.getLogger("memsif_ray.somewhere").warning("odd", extra={"asked": len(query)})
        raise ValueError(query)


@pytest.fixture
def shard(lines):  # which gives the process's log back afterwards
    shard = MemoryShard(ShardsConfig(), 0)
    shard._open = Telling()
    return shard


async def test_a_line_has_the_request_of_its_caller(shard):
    stream = io.StringIO()
    logging.getLogger().handlers[0].setStream(stream)
    for number in (1, 2):
        with pytest.raises(ValueError, match="heron"):
            await shard.call("search", (Caller("t", request_id=f"req_{number}"),), {"query": "heron"})
    told = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert [(line["event"], line["request_id"]) for line in told] == [("odd", "req_1"), ("odd", "req_2")]
