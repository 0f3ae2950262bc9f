"""Equal requests are made once, and every row still knows what it takes."""

from dataclasses import replace

import pytest

from memsif_ray.clients.scripted import ScriptedChat
from memsif_ray.clients.sharing import CountingChat, SharingChat
from memsif_ray.errors import ServiceBusy
from memsif_ray.types import CallScope, ChatReply, ChatRequest

GREEDY = ChatRequest("answer", "system", "Who?", 20, seed=1)
SAMPLED = replace(GREEDY, temperature=0.1)


@pytest.mark.parametrize(
    ("one", "other", "made"),
    [
        (GREEDY, GREEDY, 1),
        (GREEDY, replace(GREEDY, seed=2), 1),
        (GREEDY, replace(GREEDY, stage="other", scope=CallScope("m")), 1),
        (SAMPLED, replace(SAMPLED, seed=2), 2),
        (GREEDY, SAMPLED, 2),
        (GREEDY, replace(GREEDY, max_tokens=21), 2),
        (GREEDY, replace(GREEDY, user="Where?"), 2),
        (GREEDY, replace(GREEDY, schema={"type": "object"}), 2),
    ],
)
async def test_what_is_equal(one, other, made):
    chat = ScriptedChat(lambda request: "Ann")
    shared = SharingChat(chat)
    assert (await shared.complete(one)).content == (await shared.complete(other)).content
    assert len(chat.requests) == made


async def test_a_failure_is_not_remembered():
    said = iter([ServiceBusy("busy"), "Ann"])
    shared = SharingChat(ScriptedChat(lambda request: next(said)))
    with pytest.raises(ServiceBusy):
        await shared.complete(GREEDY)
    assert (await shared.complete(GREEDY)).content == "Ann"


async def test_a_row_counts_shared_replies_as_its_own():
    shared = SharingChat(ScriptedChat(lambda request: "Ann"))
    rows = [CountingChat(shared), CountingChat(shared)]
    for row in rows:
        await row.complete(GREEDY)
    assert [(row.calls, row.completion_tokens) for row in rows] == [(1, rows[0].completion_tokens)] * 2


async def test_usage_that_is_unknown_once_is_unknown():
    class Silent:
        async def complete(self, request: ChatRequest) -> ChatReply:
            return ChatReply("Ann", "stop", "m", prompt_tokens=None, completion_tokens=1)

    row = CountingChat(Silent())
    await row.complete(GREEDY)
    await row.complete(SAMPLED)
    assert (row.calls, row.prompt_tokens, row.completion_tokens) == (2, None, 2)
