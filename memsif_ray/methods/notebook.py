"""Where a compared system keeps its memory: an append-only log of notes, searched by exact cosine."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np

from memsif_ray.ports import Embedder
from memsif_ray.text import is_blank
from memsif_ray.types import Matrix, Note, Vector


class NoteBook:
    """The notes of one memory. Vectors are not part of its log: the embedding cache has them."""

    def __init__(self, embedder: Embedder) -> None:
        """Start empty."""
        self.log: list[Note] = []
        self._embedder = embedder
        self._current: dict[str, Note] = {}
        self._vectors: dict[str, Vector] = {}

    def __iter__(self) -> Iterator[Note]:
        """The active notes, in the order in which their ids first came."""
        return (note for note in self._current.values() if note.active)

    def __getitem__(self, note_id: str) -> Note:
        """The current version of a note, active or not.

        Raises:
            KeyError: When there is no such note.
        """
        return self._current[note_id]

    def of_kind(self, *kinds: str) -> list[Note]:
        """The active notes of some kinds."""
        return [note for note in self if note.kind in kinds]

    async def write(self, notes: Sequence[Note]) -> None:
        """Append notes, new ones or later versions, and embed those whose text is new.

        A blank text has no vector and is never found by search.

        Raises:
            ServiceError: When the embedder failed; nothing was written then.
        """
        new = [note for note in notes if self._text_of(note.note_id) != note.text and not is_blank(note.text)]
        vectors = await self._embedder.embed([note.text for note in new]) if new else ()
        for note in notes:
            if is_blank(note.text):
                self._vectors.pop(note.note_id, None)
            self._current[note.note_id] = note
        self._vectors.update((note.note_id, vector) for note, vector in zip(new, vectors, strict=True))
        self.log.extend(notes)

    def delete(self, note_id: str) -> None:
        """Append a last version that is not active.

        Raises:
            KeyError: When there is no such note.
        """
        gone = replace(self._current[note_id], active=False)
        self._current[note_id] = gone
        self.log.append(gone)

    async def restore(self, log: Sequence[Note]) -> None:
        """Become what a log says, embedding only what is current.

        Raises:
            ServiceError: When the embedder failed.
        """
        current = {note.note_id: note for note in log}  # a later version keeps the place of the first
        await self.write(list(current.values()))
        self.log = list(log)

    def vector(self, note_id: str) -> Vector | None:
        """Unit vector of a note's text, shape (dim,); None for a blank text."""
        return self._vectors.get(note_id)

    def nearest(
        self, query: Vector, notes: Collection[Note], *, k: int, at_least: float = -1.0
    ) -> list[tuple[Note, float]]:
        """The `k` notes with the highest cosine to `query`, best first; equal ones in the order given.

        Args:
            query: Unit vector, shape (dim,).
            notes: Where to look.
            k: At most this many.
            at_least: Least cosine.
        """
        seen = [note for note in notes if note.note_id in self._vectors]
        if not seen:
            return []
        scores = self.matrix(seen) @ query
        best = np.argsort(-scores, kind="stable")[:k]
        return [(seen[i], float(scores[i])) for i in best if scores[i] >= at_least]

    def matrix(self, notes: Collection[Note]) -> Matrix:
        """Unit vectors of notes, shape (n, dim).

        Raises:
            KeyError: When one of them has a blank text.
        """
        return np.stack([self._vectors[note.note_id] for note in notes])

    def _text_of(self, note_id: str) -> str | None:
        return self._current[note_id].text if note_id in self._current else None
