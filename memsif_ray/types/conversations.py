"""Conversations, the questions about them, and the references for their answers."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum


class Category(StrEnum):
    """Question categories shared by both benchmarks (MemSIF, Appendix B)."""

    SINGLE_HOP = "S-hop"
    MULTI_HOP = "M-hop"
    TEMPORAL = "Temp"
    KNOWLEDGE = "Kno"
    ADVERSARIAL = "Adv"
    """LoCoMo category 5 and LongMemEval `_abs`: the right reply is to abstain. Never part of ACC."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation, cleaned by its loader.

    Attributes:
        conversation_id: The conversation it belongs to.
        message_id: Unique in the conversation, e.g. `D1:3`.
        position: Global position in the conversation, from 0.
        session: Session number, from 1.
        speaker: Display name of the speaker.
        text: What was said; valid Unicode, may be blank.
        timestamp: Local time of the session as the data gives it, no time zone.
        caption: Caption of a shared picture, if any.
        role: `user` or `assistant`. An assistant's turn that only echoes memory is no new evidence.
    """

    conversation_id: str
    message_id: str
    position: int
    session: int
    speaker: str
    text: str
    timestamp: datetime
    caption: str | None = None
    role: str = "user"

    @property
    def content(self) -> str:
        """Text with the caption marked, as embedded, indexed and shown to models; "" when blank."""
        if not self.caption:
            return self.text
        return f"{self.text} [shares a photo: {self.caption}]".lstrip()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole history, messages in order."""

    conversation_id: str
    dataset: str
    speakers: tuple[str, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What may be shown to a method: no gold, no evidence ids, no trap."""

    question_id: str
    conversation_id: str
    index: int
    text: str
    category: Category
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Gold:
    """The reference for one question; only `evaluation` may read it.

    Attributes:
        answer: Reference answer as text; "" when `abstain`.
        evidence: Repaired gold message ids that exist in the conversation.
        trap: The adversarial answer that must be scored wrong, if any.
        abstain: True when the right reply says that it was never mentioned.
        kind: The benchmark's own question type, e.g. `single-session-preference`; "" where it has none.
        explanation: Why the question cannot be answered, where the benchmark says so.
    """

    question_id: str
    answer: str
    evidence: tuple[str, ...] = ()
    trap: str | None = None
    abstain: bool = False
    kind: str = ""
    explanation: str = ""
