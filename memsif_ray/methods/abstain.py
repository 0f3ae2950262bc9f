"""Always-abstain: answers every question by saying that it was not mentioned.

Paper:
    A control, not a system: what a grader gives for nothing, and why questions to abstain from are no part of
    ACC.
Official code:
    None needed.
Deviations:
    - None.
"""

from __future__ import annotations

from memsif_ray.methods.base import Tables
from memsif_ray.types import Context, Conversation, Question

REPLY = "This was not mentioned in the conversation."
"""Has a phrase that LoCoMo's own score looks for, too."""


class Abstain:
    """Remembers nothing, calls no model."""

    name = "abstain"

    def __init__(self, *_: object) -> None:
        """Needs neither configuration nor tools."""

    async def ingest(self, conversation: Conversation) -> None:
        """Builds nothing."""

    def dump(self) -> Tables:
        """Holds nothing."""
        return {}

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restores nothing."""

    async def context(self, question: Question) -> Context:
        """Finds nothing."""
        return Context(())

    async def learn(self, question: Question, context: Context) -> None:
        """Learns nothing."""

    async def answer(self, question: Question, context: Context) -> str:
        """The same for every question."""
        return REPLY
