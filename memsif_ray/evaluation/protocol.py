"""The online query-state protocol: one fixed order of questions per conversation (MemSIF 4.1, Appendix D)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from memsif_ray.types import Question


def question_order(questions: Iterable[Question], seed: int) -> tuple[Question, ...]:
    """A seeded random permutation of the questions of each conversation.

    Questions are ordered by a hash of seed, conversation and question id. Unlike a draw from a generator,
    the order is the same on every machine and NumPy version, and leaving out a question or a conversation
    moves no other. Conversations keep the order in which they first appear.
    """
    kept = tuple(questions)
    first = {conversation: n for n, conversation in enumerate(dict.fromkeys(q.conversation_id for q in kept))}
    return tuple(sorted(kept, key=lambda q: (first[q.conversation_id], _rank(q, seed))))


def _rank(question: Question, seed: int) -> bytes:
    identity = repr((seed, question.conversation_id, question.question_id))
    return hashlib.sha256(identity.encode()).digest()
