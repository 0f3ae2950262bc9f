"""Messages as lines of an answer context, and packing them under a token budget."""

from __future__ import annotations

from collections.abc import Sequence

from memsif_ray.ports import TokenCounter
from memsif_ray.types import ContextItem, Message


def message_item(message: Message, line: str) -> ContextItem:
    """A message rendered as `line`."""
    return ContextItem(message.message_id, "message", line, (message.message_id,), message.timestamp)


def pack(
    items: Sequence[ContextItem], budget: int, tokens: TokenCounter, *, stop_at_first: bool = False
) -> list[ContextItem]:
    """Items in the order given while they fit; smaller ones are still tried after one that does not.

    Args:
        items: Best first.
        budget: Tokens, line breaks included.
        tokens: Counts them.
        stop_at_first: Stop at the first that does not fit, so that what is kept is contiguous.
    """
    kept: list[ContextItem] = []
    for item in items:
        cost = tokens.count(item.text) + 1
        if cost <= budget:
            kept.append(item)
            budget -= cost
        elif stop_at_first:
            break
    return kept


def chronological(items: Sequence[ContextItem]) -> tuple[ContextItem, ...]:
    """Oldest first; what was said at the same time keeps its order of retrieval."""
    return tuple(sorted(items, key=lambda item: (item.timestamp is None, item.timestamp)))
