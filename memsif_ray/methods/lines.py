"""Messages as lines of an answer context, and packing them under a token budget."""

from __future__ import annotations

from collections.abc import Sequence

from memsif_ray.memory.budget import fit
from memsif_ray.memory.reading import message_item
from memsif_ray.ports import TokenCounter
from memsif_ray.types import ContextItem, Message


def pack(
    items: Sequence[ContextItem], budget: int, tokens: TokenCounter, *, contiguous: bool = False
) -> list[ContextItem]:
    """What fits of the lines, line breaks included; see `memory.budget.fit`."""
    return fit(items, lambda item: f"{item.text}\n", tokens=tokens, budget=budget, contiguous=contiguous)


def turns_that_fit(messages: Sequence[Message], budget: int, tokens: TokenCounter) -> tuple[ContextItem, ...]:
    """What fits of messages, given best first, as dated lines in the order in which they were said."""
    place = {message.message_id: message.position for message in messages}
    kept = pack([message_item(m) for m in messages], budget, tokens)
    return tuple(sorted(kept, key=lambda item: place[item.item_id]))


def chronological(items: Sequence[ContextItem]) -> tuple[ContextItem, ...]:
    """Oldest first; what was said at the same time keeps its order of retrieval."""
    return tuple(sorted(items, key=lambda item: (item.timestamp is None, item.timestamp)))
