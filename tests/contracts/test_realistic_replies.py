"""The replies by which costs are measured are usable, for every prompt."""

import pytest

from memsif_ray import prompts
from memsif_ray.prompts.replies import parse_reply
from memsif_ray.types import CallScope, ChatReply
from tests.benchmarks.realistic_replies import realistic
from tests.contracts.prompt_values import VALUES


@pytest.mark.parametrize("name", VALUES)
def test_a_reply_fits_its_schema_and_is_always_the_same(name):
    request = prompts.load(name).request(
        stage=name.rpartition("/")[2], scope=CallScope(), max_tokens=9, **VALUES[name]
    )
    said = realistic(request)
    parse_reply(ChatReply(content=said, finish_reason="stop", model="m"), request.schema)
    assert realistic(request) == said
