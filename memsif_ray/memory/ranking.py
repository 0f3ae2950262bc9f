"""Interaction retrieval: which messages may hold the answer to a question (MemSIF 3.5).

`dense` is the paper's cosine per message. `structural` reads every message in its place:

- *dense*: cosine to the message together with half of each neighbour, for an answer alone
  ("Yes, in June!") does not say what it answers;
- *lexical*: BM25 of the words around the message, its own counted twice;
- *speaker*: turns of whom the question names;
- *feedback*: cosine to the three messages that the first three signals put on top;
- *thread*: messages of the trajectories that hold these three.

Dense and lexical scores are standardised per question (z-scores), so that they weigh the same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from memsif_ray.memory.lexical import LexicalIndex, lexical_terms
from memsif_ray.memory.segments import Encoded
from memsif_ray.memory.terms import content_words
from memsif_ray.text import is_blank
from memsif_ray.types import Matrix, Message, Segment, Trajectory, Vector

# Chosen on five LoCoMo conversations, checked on four others. Recall within 1,024 tokens is 0.851; it is
# 0.80 without the lexical part, 0.83 without dense and feedback, 0.83 without speaker, 0.85 without feedback.
# The thread neither helps nor harms on LoCoMo. A weight 1.5 times larger or smaller moves recall by 0.004.
NEIGHBOUR = 0.5
"""Weight of the message before and after, within a session, against the message itself."""
REACH = 2
"""Messages before and after whose words count, within a session; 1 loses 0.02, 0 loses 0.05."""
SPEAKER = 2.0
"""In standard deviations of the dense or lexical score, as are the next two."""
FEEDBACK = 0.5
THREAD = 0.25
TOP = 3
"""Messages that are taken as found for feedback and threads."""

_ROUNDING = 1e-6
"""Spread or length below it is no more than float32 arithmetic leaves."""

Scores = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A message with its score, and what each signal added to it."""

    message_id: str
    position: int
    score: float
    parts: Mapping[str, float]


class InteractionIndex:
    """Ranks the messages of one conversation. Blank messages are never ranked.

    Args:
        messages: In order of position.
        segments: Topical Segments; may not cover the last messages.
        trajectories: Event Trajectories; may not cover the last segments.
        ranking: `structural` or `dense`.
    """

    def __init__(
        self,
        messages: Sequence[Encoded],
        segments: Sequence[Segment],
        trajectories: Sequence[Trajectory],
        *,
        ranking: Literal["structural", "dense"],
    ) -> None:
        """Index once per ingest."""
        spoken = [(item.message, item.vector) for item in messages if item.vector is not None]
        self._messages = [message for message, _ in spoken]
        self._vectors: Matrix = np.array([vector for _, vector in spoken], dtype=np.float32)
        self._structural = ranking == "structural" and bool(spoken)
        if self._structural:
            self._in_context = _in_context(self._vectors, self._messages)
            self._lexical = LexicalIndex(_windows(self._messages))
            self._turns = _turns(self._messages)
            self._threads = _threads(self._messages, segments, trajectories)

    def rank(
        self, query_text: str, query_vector: Vector, query_entities: frozenset[str] = frozenset()
    ) -> list[Ranked]:
        """Every message that says something, best first, ties in order of position.

        Args:
            query_text: A blank one finds nothing.
            query_vector: Its embedding, shape (dim,), unit length.
            query_entities: Not used: on LoCoMo, entities shared with the message, its segment or its
                trajectory add nothing to the words that BM25 compares.
        """
        if is_blank(query_text) or not self._messages:
            return []
        parts = self._parts(query_text, query_vector)
        total = np.sum(list(parts.values()), axis=0)
        order = np.argsort(-total, kind="stable")
        columns = [part[order].tolist() for part in (total, *parts.values())]
        return [
            Ranked(
                self._messages[i].message_id,
                self._messages[i].position,
                score,
                dict(zip(parts, added, strict=True)),
            )
            for i, (score, *added) in zip(order, zip(*columns, strict=True), strict=True)
        ]

    def _parts(self, text: str, vector: Vector) -> dict[str, Scores]:
        if not self._structural:
            return {"dense": (self._vectors @ vector).astype(np.float64)}
        parts: dict[str, Scores] = {
            "dense": standardised(self._in_context @ vector),
            "lexical": standardised(self._lexical.scores(lexical_terms(text))),
            "speaker": SPEAKER * self._spoken_by_named(text),
        }
        first = np.sum(list(parts.values()), axis=0)
        top = np.argsort(-first, kind="stable")[:TOP]
        found = _unit(np.mean(self._vectors[top], axis=0))
        parts["feedback"] = FEEDBACK * standardised(self._in_context @ found)
        parts["thread"] = THREAD * np.isin(self._threads, self._threads[top]).astype(np.float64)
        return parts

    def _spoken_by_named(self, text: str) -> Scores:
        asked = set(content_words(text))
        named = np.zeros(len(self._messages))
        for name, turns in self._turns:
            if name & asked:
                named += turns
        return named


def standardised(values: np.ndarray) -> Scores:
    """Z-scores, shape (n,); zeros when all values are the same but for rounding."""
    values = values.astype(np.float64)
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > _ROUNDING else np.zeros(len(values))


def _in_context(vectors: Matrix, messages: Sequence[Message]) -> Matrix:
    sessions = np.array([message.session for message in messages])
    joined = (sessions[1:] == sessions[:-1])[:, None]
    mixed = vectors.copy()
    mixed[1:] += NEIGHBOUR * vectors[:-1] * joined
    mixed[:-1] += NEIGHBOUR * vectors[1:] * joined
    return _unit(mixed)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = vectors / np.maximum(lengths, _ROUNDING)  # opposites may cancel out
    return scaled


def _windows(messages: Sequence[Message]) -> list[list[str]]:
    """Per message the terms around it in its session, its own twice."""
    terms = [lexical_terms(f"{message.speaker}: {message.content}") for message in messages]
    windows = []
    for i, message in enumerate(messages):
        near = range(max(0, i - REACH), min(len(messages), i + REACH + 1))
        window = [term for j in near if messages[j].session == message.session for term in terms[j]]
        windows.append(window + terms[i])
    return windows


def _turns(messages: Sequence[Message]) -> list[tuple[frozenset[str], Scores]]:
    """Per speaker the words of the name, and 1 for each of the speaker's messages."""
    speakers = np.array([message.speaker for message in messages])
    return [
        (frozenset(content_words(str(name))), (speakers == name).astype(np.float64))
        for name in np.unique(speakers)
    ]


def _threads(
    messages: Sequence[Message], segments: Sequence[Segment], trajectories: Sequence[Trajectory]
) -> NDArray[np.int64]:
    """Number of each message's thread: its trajectory, or its segment, or itself where neither covers it."""
    trajectory_of = {s: t.trajectory_id for t in trajectories for s in t.segment_ids}
    unit_of = {m: trajectory_of.get(s.segment_id, s.segment_id) for s in segments for m in s.message_ids}
    units = [unit_of.get(message.message_id, message.message_id) for message in messages]
    return np.unique(units, return_inverse=True)[1]
