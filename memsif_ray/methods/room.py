"""Making long lists fit a prompt: how every compared system stays inside its model's context window."""

from __future__ import annotations

from collections.abc import Sequence

from memsif_ray.memory.budget import fit
from memsif_ray.ports import TokenCounter
from memsif_ray.prompts import shorten

RESERVE = 768
"""Tokens of the window kept free for a prompt's own words and the question, besides its reply."""
_LONGEST, _SHORTEST = 65_536, 64


def room(window: int, *, reply: int) -> int:
    """Tokens that a prompt's data may fill in a `window`, beside a reply of at most `reply`; at least 64."""
    return max(64, window - reply - RESERVE)


def shortened(lines: Sequence[str], *, budget: int, tokens: TokenCounter) -> list[str]:
    """The lines, on one line each, at the same greatest length at which all of them fit `budget`.

    The length is halved from 65,536 to 64 characters; when even that is too much, the last lines that fit
    remain. (A prompt lists what is oldest first.)
    """
    limit = _LONGEST
    cut = [shorten(line, limit) for line in lines]
    while tokens.count("\n".join(cut)) > budget and limit > _SHORTEST:
        limit //= 2
        cut = [shorten(line, limit) for line in lines]
    if tokens.count("\n".join(cut)) <= budget:
        return cut
    return fit(cut[::-1], lambda line: f"{line}\n", tokens=tokens, budget=budget, contiguous=True)[::-1]
