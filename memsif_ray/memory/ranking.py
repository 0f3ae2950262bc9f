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

from collections import defaultdict
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
Places = NDArray[np.int64]


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
        earlier: An index of the same conversation and ranking. What it knows of messages that are still the
            same objects is taken over, so that one more message costs little; the result is the same.
    """

    def __init__(
        self,
        messages: Sequence[Encoded],
        segments: Sequence[Segment],
        trajectories: Sequence[Trajectory],
        *,
        ranking: Literal["structural", "dense"],
        earlier: InteractionIndex | None = None,
    ) -> None:
        """Index once per ingest."""
        self._spoken = [item for item in messages if item.vector is not None]
        self._messages = [item.message for item in self._spoken]
        same = 0 if earlier is None else _in_common(earlier._spoken, self._spoken)
        before = None if earlier is None else earlier._vectors
        self._vectors: Matrix = _continued(before, same, [e.vector for e in self._spoken[same:]])
        self._structural = ranking == "structural" and bool(self._spoken)
        self._terms: list[list[str]] = []
        self._lexical, self._in_context = LexicalIndex(), self._vectors
        if self._structural:
            self._read_in_place(earlier, same)
            self._turns = _turns(self._messages)
            self._threads = _threads(self._messages, segments, trajectories)

    def _read_in_place(self, earlier: InteractionIndex | None, same: int) -> None:
        """Terms, neighbours and what follows from them; the last known messages have new neighbours."""
        known: list[list[str]] = []
        before, lexical = None, LexicalIndex()
        if earlier is not None:
            known, before, lexical = earlier._terms[:same], earlier._in_context, earlier._lexical
        self._terms = [*known, *map(_terms, self._messages[same:])]
        place = max(0, len(known) - max(NEAR))
        near = [_neighbours(i, self._messages, self._terms) for i in range(place, len(self._messages))]
        self._in_context = _continued(before, place, _in_context(self._vectors, near, place))
        self._lexical = lexical.followed_by(place, _windows(self._terms, near, place))

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
        order = _best(total, limit)
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
        top = _best(first, TOP)
        found = _unit(np.mean(self._vectors[top], axis=0))
        parts["feedback"] = FEEDBACK * standardised(self._in_context @ found)
        parts["thread"] = THREAD * np.isin(self._threads, self._threads[top]).astype(np.float64)
        return parts

    def _spoken_by_named(self, text: str) -> Scores:
        asked = set(content_words(text))
        named = np.zeros(len(self._messages))
        for name, turns in self._turns:
            if name & asked:
                named[turns] += 1.0
        return named


def _best(scores: Scores, limit: int | None) -> Places:
    """Places of the highest scores, best first, ties in order; all of them without a limit."""
    if limit is None or limit >= len(scores):
        return np.argsort(-scores, kind="stable")[:limit]
    least = np.partition(scores, -limit)[-limit]
    hopeful = np.flatnonzero(scores >= least)
    return hopeful[np.argsort(-scores[hopeful], kind="stable")][:limit]


def standardised(values: np.ndarray) -> Scores:
    """Z-scores, shape (n,); zeros when all values are the same but for rounding."""
    values = values.astype(np.float64)
    spread = float(values.std())
    return (values - values.mean()) / spread if spread > _ROUNDING else np.zeros(len(values))


def _in_common(before: Sequence[Encoded], now: Sequence[Encoded]) -> int:
    """How many messages both begin with."""
    pairs = enumerate(zip(before, now, strict=False))
    return next((i for i, (a, b) in pairs if a is not b), min(len(before), len(now)))


def _continued(before: Matrix | None, place: int, rows: Sequence[Vector | None] | Matrix) -> Matrix:
    """`rows` behind the first `place` of those before."""
    if before is None or place == 0:
        return np.array(rows, dtype=np.float32)
    return np.concatenate([before[:place], rows]) if len(rows) else before[:place]


def _terms(message: Message) -> list[str]:
    return lexical_terms(f"{message.speaker}: {message.content}")


def _neighbours(i: int, messages: Sequence[Message], terms: Sequence[Sequence[str]]) -> list[int]:
    """Messages whose words count for message `i`, nearest first."""
    room, near = WINDOW - len(terms[i]), []
    for j in (i + offset for offset in NEAR):
        together = 0 <= j < len(messages) and messages[j].session == messages[i].session
        if together and len(terms[j]) <= room:
            near.append(j)
            room -= len(terms[j])
    return near


def _in_context(vectors: Matrix, near: Sequence[Sequence[int]], place: int) -> Matrix:
    """Each vector from `place` on, mixed with those beside it; `near` belongs to these."""
    mixed = vectors[place:].copy()
    for offset in (-1, 1):
        beside = np.array([i for i, js in enumerate(near) if place + i + offset in js], dtype=np.int64)
        mixed[beside] += NEIGHBOUR * vectors[beside + place + offset]
    return _unit(mixed)


def _unit(vectors: NDArray[np.float32]) -> NDArray[np.float32]:
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    scaled: NDArray[np.float32] = vectors / np.maximum(lengths, _ROUNDING)  # opposites may cancel out
    return scaled


def _windows(terms: Sequence[list[str]], near: Sequence[Sequence[int]], place: int) -> list[list[str]]:
    """Per message from `place` on its own terms twice, and once those of its neighbours."""
    return [
        own + own + [t for j in others for t in terms[j]]
        for own, others in zip(terms[place:], near, strict=True)
    ]


def _turns(messages: Sequence[Message]) -> list[tuple[frozenset[str], Places]]:
    """Per speaker the words of the name, and the speaker's messages."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for place, message in enumerate(messages):
        places[message.speaker].append(place)
    return [(frozenset(content_words(name)), np.array(places[name])) for name in sorted(places)]


def _threads(
    messages: Sequence[Message], segments: Sequence[Segment], trajectories: Sequence[Trajectory]
) -> NDArray[np.int64]:
    """Number of each message's thread: its trajectory, or its segment, or itself where neither covers it."""
    trajectory_of = {s: t.trajectory_id for t in trajectories for s in t.segment_ids}
    unit_of = {m: trajectory_of.get(s.segment_id, s.segment_id) for s in segments for m in s.message_ids}
    units = [unit_of.get(message.message_id, message.message_id) for message in messages]
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(unit, len(numbers)) for unit in units], dtype=np.int64)
