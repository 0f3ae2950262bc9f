"""Graders that need no model: a threshold on LoCoMo's token-F1, and rules where a rule is exact."""

from __future__ import annotations

from collections.abc import Callable

from memsif_ray.evaluation.abstention import abstains
from memsif_ray.evaluation.metrics import locomo_score, same_date
from memsif_ray.types import Category, Gold

THRESHOLD = 0.5
"""F1 from which an answer is accepted: it then shares more than it misses or adds."""


def accepts_by_f1(
    answer: str, gold: Gold, category: Category, *, threshold: float = THRESHOLD
) -> bool | None:
    """Whether LoCoMo's score of the answer reaches the threshold; None without a reference."""
    score = locomo_score(answer, gold, category)
    return None if score is None else score >= threshold


def accepts_by_rules(
    answer: str, gold: Gold, category: Category, *, threshold: float = THRESHOLD
) -> bool | None:
    """Abstention where that is right, the exact date where the reference is one, else F1."""
    if gold.abstain:
        return abstains(answer)
    dated = same_date(answer, gold.answer)
    return accepts_by_f1(answer, gold, category, threshold=threshold) if dated is None else dated


GRADERS: dict[str, Callable[..., bool | None]] = {"f1": accepts_by_f1, "rules": accepts_by_rules}
"""By name."""
