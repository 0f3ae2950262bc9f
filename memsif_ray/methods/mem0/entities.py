"""The entities that Mem0's 2026 memories are linked to, and what they add to a memory's score."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from memsif_ray.methods.notebook import NoteBook
from memsif_ray.ports import Embedder
from memsif_ray.types import Note, Vector

WEIGHT = 0.5
"""Most that an entity adds to a memory's score; its cosine and its BM25 score add 1 at most each."""


def damping(linked: int) -> float:
    """Share of the weight left to an entity that `linked` memories have: 1 for one, 1/2 for about 33."""
    return 1 / (1 + 0.001 * (linked - 1) ** 2)


class EntityIndex:
    """Entities are notes beside the memories. A memory's `links` name them, so none is ever rewritten."""

    def __init__(self, book: NoteBook, embedder: Embedder) -> None:
        """Index the entities that `book` holds, and those that are written to it from now on."""
        self._book, self._embedder = book, embedder
        self._ids = {note.text: note.note_id for note in book.of_kind("entity")}

    async def link(self, names: Sequence[Sequence[str]], *, alike: float) -> list[tuple[str, ...]]:
        """Ids of named entities, a tuple per list of names; unknown ones are written.

        Args:
            names: Names per memory.
            alike: An entity with a cosine at or above it is the same, by another name.

        Raises:
            ServiceError: When the embedder failed.
        """
        new = [name for name in dict.fromkeys(sum(map(list, names), [])) if name not in self._ids]
        known = self._book.of_kind("entity")
        fresh: list[Note] = []
        for name, vector in zip(new, await self._vectors(new), strict=True):
            same = self._book.nearest(vector, known, k=1, at_least=alike)
            if not same:
                fresh.append(Note(f"entity_{len(known) + len(fresh):04}", "entity", name))
            self._ids[name] = same[0][0].note_id if same else fresh[-1].note_id
        await self._book.write(fresh)
        return [tuple(dict.fromkeys(self._ids[name] for name in some)) for some in names]

    async def boosts(self, names: Sequence[str], *, alike: float) -> dict[str, float]:
        """Boost per memory id: the best of the entities that the names mean, damped where frequent.

        Args:
            names: Entities of a question.
            alike: Least cosine at which an entity is meant.

        Raises:
            ServiceError: When the embedder failed.
        """
        memories, entities = self._book.of_kind("memory"), self._book.of_kind("entity")
        linked = Counter(entity for note in memories for entity in note.links)
        best: dict[str, float] = {}
        for vector in await self._vectors(names) if entities else ():
            for entity, cosine in self._book.nearest(vector, entities, k=len(entities), at_least=alike):
                boost = WEIGHT * cosine * damping(linked[entity.note_id])
                best[entity.note_id] = max(boost, best.get(entity.note_id, 0.0))
        boosts = {
            note.note_id: max((best.get(link, 0.0) for link in note.links), default=0.0) for note in memories
        }
        return {note_id: boost for note_id, boost in boosts.items() if boost > 0}

    async def _vectors(self, names: Sequence[str]) -> Sequence[Vector]:
        return list(await self._embedder.embed(names)) if names else ()
