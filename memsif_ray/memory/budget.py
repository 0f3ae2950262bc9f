"""What fits a token budget: one rule for every method, ranking and context."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

from memsif_ray.ports import TokenCounter

Item = TypeVar("Item")

_SMALLEST = 4
"""Tokens below which nothing worth having fits, so the search ends."""


def fit(
    items: Iterable[Item],
    text_of: Callable[[Item], str],
    *,
    tokens: TokenCounter,
    budget: int,
    contiguous: bool = False,
) -> list[Item]:
    """As many items as fit, in the order given; smaller ones are still tried after one that does not.

    Args:
        items: Best first.
        text_of: What an item would put into a context.
        tokens: Counts it.
        budget: Tokens that may be spent.
        contiguous: Stop at the first item that does not fit.
    """
    kept: list[Item] = []
    for item in items:
        if budget < _SMALLEST:
            break
        cost = tokens.count(text_of(item))
        if cost <= budget:
            kept.append(item)
            budget -= cost
        elif contiguous:
            break
    return kept
