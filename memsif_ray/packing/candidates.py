"""Which lines of a method's context are offered to a packing policy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from memsif_ray.memory.budget import fit
from memsif_ray.packing.operators import shown
from memsif_ray.ports import TokenCounter
from memsif_ray.types import Context, ContextItem


def candidates(context: Context, *, cap: int, tokens: TokenCounter) -> tuple[ContextItem, ...]:
    """The best lines that fit `cap` tokens, in reading order, as the answer prompt shows them.

    Every policy chooses among the same ones, so that a comparison of policies is about packing alone.
    """
    ranked = shown(_scored(context))
    best_first = sorted(range(len(ranked)), key=lambda place: -ranked[place].score)
    kept = fit(best_first, lambda place: f"{ranked[place].text}\n", tokens=tokens, budget=cap)
    return tuple(ranked[place] for place in sorted(kept))


def _scored(context: Context) -> Sequence[ContextItem]:
    """Lines that a method left unscored are as good as the best retrieved message they rest on."""
    if len({item.score for item in context.items}) > 1:
        return context.items
    rank = {message_id: place for place, message_id in enumerate(context.retrieved_ids)}
    last = len(rank)
    return [
        replace(
            item, score=-float(min((rank.get(source, last) for source in item.message_ids), default=last))
        )
        for item in context.items
    ]
