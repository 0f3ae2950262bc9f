"""Tables of the data set: conversations, messages, questions, and the references apart."""

from __future__ import annotations

from memsif_ray.schemas.columns import FLAG, IDS, TEXT, TIME, WHOLE, table

CONVERSATIONS = table(conversation_id=TEXT, dataset=TEXT, speakers=IDS)
MESSAGES = table(
    "caption",
    conversation_id=TEXT,
    message_id=TEXT,
    position=WHOLE,
    session=WHOLE,
    speaker=TEXT,
    text=TEXT,
    timestamp=TIME,
    caption=TEXT,
    role=TEXT,
)
QUESTIONS = table(
    "asked_at",
    conversation_id=TEXT,
    question_id=TEXT,
    index=WHOLE,
    text=TEXT,
    category=TEXT,
    asked_at=TIME,
)
GOLD = table(
    "trap",
    question_id=TEXT,
    answer=TEXT,
    evidence=IDS,
    trap=TEXT,
    abstain=FLAG,
    kind=TEXT,
    explanation=TEXT,
)
"""References, apart from the questions here too."""
