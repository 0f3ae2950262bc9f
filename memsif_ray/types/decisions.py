"""Choices that memory made, and who made them."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice made while building or reading memory, and who made it.

    Attributes:
        kind: `boundary`, `trajectory`, `sufficiency`, ...
        subject_id: What was decided about (a message, segment or question id).
        outcome: e.g. `append`, `split`, `traj_0007`, `sufficient`.
        decided_by: `threshold`, `llm`, `rule`, or `fallback` (the model's reply was unusable).
        score: The φ or coverage that the decision rests on, if any.
        detail: Reason in words, e.g. why a fallback happened.
    """

    kind: str
    subject_id: str
    outcome: str
    decided_by: str
    score: float | None = None
    detail: str = ""
