"""How one decider did on the items of one decision, and when a model has earned its trust."""

from __future__ import annotations

from dataclasses import dataclass

LEVEL = 0.05
"""One-sided level at which a model must beat chance."""


@dataclass(frozen=True, slots=True)
class Trial:
    """Counts of one decider on one decision.

    Attributes:
        right: Choices or statements that were right.
        total: Choices made or statements written.
        chance: Share that a guess gets right. For statements 0.5: more than half must be right.
        found: Planted facts that some statement says (statements only).
        planted: Planted facts there are; 0 for a decision that is a choice.
    """

    right: int
    total: int
    chance: float
    found: int = 0
    planted: int = 0

    @property
    def score(self) -> float:
        """Accuracy of choices; F1 of precision and recall of statements."""
        precision = self.right / self.total if self.total else 0.0
        if not self.planted:
            return precision
        recall = self.found / self.planted
        return 2 * precision * recall / (precision + recall) if precision + recall else 0.0

    @property
    def p_value(self) -> float:
        """One-sided exact binomial probability of doing this well by chance."""
        from scipy.stats import binomtest  # takes a second to import, and readers of profiles do without

        if not self.total:
            return 1.0
        return float(binomtest(self.right, self.total, self.chance, alternative="greater").pvalue)


@dataclass(frozen=True, slots=True)
class Measured:
    """A model beside its model-free counterpart on the same items.

    Attributes:
        decision: Field of `Capabilities`.
        model: How the model did.
        rule: How the counterpart did.
        basis: Fingerprint of prompt and items; a result on another basis says nothing.
    """

    decision: str
    model: Trial
    rule: Trial
    basis: str

    @property
    def trusted(self) -> bool:
        """Significantly better than chance and not worse than the counterpart."""
        return self.model.p_value < LEVEL and self.model.score >= self.rule.score

    @property
    def reason(self) -> str:
        """Why it is trusted or not, in words."""
        if self.model.p_value >= LEVEL:
            return "no better than chance"
        return "" if self.trusted else "worse than the rule"
