"""What memory would make of messages: a copy digests them, which nobody keeps."""

from __future__ import annotations

from collections.abc import Sequence

from memsif_ray.memory.engine import ConversationMemory
from memsif_ray.service import shown
from memsif_ray.service.intake import Draft, as_message
from memsif_ray.service.live import Live
from memsif_ray.service.models import Memory
from memsif_ray.types import Fact, Message


async def would_write(live: Live, drafted: Draft, *, settle: bool) -> tuple[Memory, ...]:
    """The facts that new messages would add or change, as they would be; those added have no id yet.

    Messages that wait for digestion are digested first, as they would be.

    Args:
        live: A conversation.
        drafted: What would be added to it.
        settle: Also the facts of a topic that may go on.

    Raises:
        ServiceError: When a model or the store failed.
    """
    memory, waiting = await live.copy()
    name = live.row.conversation_id
    new = [as_message(m, name) for m in drafted.new]
    await _digest(memory, [as_message(m, name) for m in waiting], following=new, settle=settle)
    before = _facts(memory)
    await _digest(memory, new, settle=settle)
    versions = shown.versions(memory.view())
    written = [fact for fact in _facts(memory).values() if before.get(fact.fact_id) != fact]
    found = [shown.memory_out(f, live.row, version=versions[f.fact_id], queries={}) for f in written]
    return tuple(
        one if fact.fact_id in before else one.model_copy(update={"id": ""})
        for fact, one in zip(written, found, strict=True)
    )


async def _digest(
    memory: ConversationMemory, texts: Sequence[Message], *, following: Sequence[Message] = (), settle: bool
) -> None:
    await memory.add(texts, following=following)  # without any, too: it makes good what failed before
    if settle and texts:
        await memory.settle()


def _facts(memory: ConversationMemory) -> dict[str, Fact]:
    return {fact.fact_id: fact for fact in memory.view().facts(every=True)}
