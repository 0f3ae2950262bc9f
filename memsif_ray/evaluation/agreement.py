"""How far graders agree: majority of votes, percent agreement, and Cohen's kappa."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from memsif_ray.types import Outcome

Pairs = Sequence[tuple[bool, bool]]
"""Two graders' labels of the same answers: accepted or not."""


def majority(votes: Sequence[Outcome]) -> Outcome:
    """The side that has more than half of all votes; INVALID when none has.

    An unreadable vote counts as one of them, so one right and two unreadable votes decide nothing.
    """
    counts = Counter(votes)
    for side in (Outcome.RIGHT, Outcome.WRONG):
        if 2 * counts[side] > len(votes):
            return side
    return Outcome.INVALID


def accepted_by_most(votes: Sequence[bool]) -> bool | None:
    """Whether more than half of the votes accept; None on a tie."""
    accepting = 2 * sum(votes)
    return None if accepting == len(votes) else accepting > len(votes)


def agreement(pairs: Pairs) -> float | None:
    """Share of answers with the same label from both; None without any."""
    return sum(one == other for one, other in pairs) / len(pairs) if pairs else None


def cohen_kappa(pairs: Pairs) -> float | None:
    """Agreement beyond chance: (p_o - p_e) / (1 - p_e); Cohen (1960).

    None without pairs, and when chance alone would agree always: both graders gave one label throughout.
    """
    cells = Counter((bool(one), bool(other)) for one, other in pairs)
    return kappa_of_cells(cells[True, True], cells[True, False], cells[False, True], cells[False, False])


def kappa_of_cells(both: float, first: float, second: float, neither: float) -> float | None:
    """Cohen's kappa from how many answers both, only the first, only the second, or none of them accept."""
    n = both + first + second + neither
    if not n:
        return None
    observed = (both + neither) / n
    chance = ((both + first) * (both + second) + (second + neither) * (first + neither)) / n**2
    return None if chance == 1 else (observed - chance) / (1 - chance)


def mean_of_known(values: Iterable[float | None]) -> float | None:
    """Mean of the values that are there; None when none is."""
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None
