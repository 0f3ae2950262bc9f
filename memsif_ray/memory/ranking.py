"""Interaction retrieval: which messages may hold the answer to a question (MemSIF 3.5).

`dense` is the paper's cosine per message. `structural` reads every message in its place:

- *dense*: cosine to the message together with half of each neighbour, for an answer alone
  ("Yes, in June!") does not say what it answers; a long message speaks for itself;
- *lexical*: BM25 of the words of the message, counted twice, and of those around it;
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

# Chosen on five LoCoMo conversations, checked on four others. Recall within 1,024 tokens is 0.851; it is 0.80
# without the lexical part, 0.82 without dense and feedback, 0.83 without speaker, 0.84 without feedback, 0.85
# without thread. WINDOW does not matter there, where turns are short; it does on LongMemEval's long ones.
NEIGHBOUR = 0.5
"""Weight of the message before and after, within a session, against the message itself."""
NEAR = (-1, 1, -2, 2)
"""Neighbours whose words count, within a session; fewer lose 0.02 recall."""
WINDOW = 80
"""Content words of a message and its neighbours together; a neighbour that does not fit is left out."""
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
        terms: Terms by message id that an earlier index left; what is missing is added.
    """

    def __init__(
        self,
        messages: Sequence[Encoded],
        segments: Sequence[Segment],
        trajectories: Sequence[Trajectory],
        *,
        ranking: Literal["structural", "dense"],
        terms: dict[str, list[str]] | None = None,
    ) -> None:
        """Index once per ingest."""
        spoken = [(item.message, item.vector) for item in messages if item.vector is not None]
        self._messages = [message for message, _ in spoken]
        self._vectors: Matrix = np.array([vector for _, vector in spoken], dtype=np.float32)
        self._structural = ranking == "structural" and bool(spoken)
        if self._structural:
            found = _terms(self._messages, {} if terms is None else terms)
            near = _neighbours(self._messages, found)
            self._in_context = _in_context(self._vectors, near)
            self._lexical = LexicalIndex(_windows(found, near))
            self._turns = _turns(self._messages)
            self._threads = _threads(self._messages, segments, trajectories)

    def rank(self, query_text: str, query_vector: Vector, *, limit: int | None = None) -> list[Ranked]:
        """Messages that say something, best first, ties in order of position.

        Args:
            query_text: A blank one finds nothing.
            query_vector: Its embedding, shape (dim,), unit length.
            limit: How many at most; None ranks them all.
        """
        if is_blank(query_text) or not self._messages:
            return []
        parts = self._parts(query_text, query_vector)
        total = np.sum(list(parts.values()), axis=0)
        order = np.argsort(-total, kind="stable")[:limit]
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


def _terms(messages: Sequence[Message], known: dict[str, list[str]]) -> list[list[str]]:
    for message in messages:
        if message.message_id not in known:
            known[message.message_id] = lexical_terms(f"{message.speaker}: {message.content}")
    return [known[message.message_id] for message in messages]


def _neighbours(messages: Sequence[Message], terms: Sequence[Sequence[str]]) -> list[list[int]]:
    """Per message the indices of those near it in its session, nearest first, that fit its window."""
    found = []
    for i, message in enumerate(messages):
        room, near = WINDOW - len(terms[i]), []
        for j in (i + offset for offset in NEAR):
            together = 0 <= j < len(messages) and messages[j].session == message.session
            if together and len(terms[j]) <= room:
                near.append(j)
                room -= len(terms[j])
        found.append(near)
    return found


def _in_context(vectors: Matrix, near: Sequence[Sequence[int]]) -> Matrix:
    mixed = vectors.copy()
    for i, others in enumerate(near):
        for j in others:
            if abs(i - j) == 1:
                mixed[i] += NEIGHBOUR * vectors[j]
    return _unit(mixed)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = vectors / np.maximum(lengths, _ROUNDING)  # opposites may cancel out
    return scaled


def _windows(terms: Sequence[list[str]], near: Sequence[Sequence[int]]) -> list[list[str]]:
    """Per message its own terms twice, and once those of its neighbours."""
    return [
        own + own + [t for j in others for t in terms[j]] for own, others in zip(terms, near, strict=True)
    ]


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
