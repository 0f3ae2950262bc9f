"""Messages with their embeddings and key entities; blank ones keep their place and get neither."""

from __future__ import annotations

from collections.abc import Sequence

from memsif_ray.memory.frequent import FrequentEntityFilter
from memsif_ray.memory.segments import Encoded
from memsif_ray.ports import Embedder, EntityExtractor
from memsif_ray.text import is_blank
from memsif_ray.types import Message, Vector


class Encoder:
    """Encodes the messages of one conversation in order, each batch in one call per model.

    Args:
        embedder: Embeds what was said.
        entities: Finds key entities.
        speakers: Whose names never count as shared entities.
    """

    def __init__(self, embedder: Embedder, entities: EntityExtractor, speakers: Sequence[str]) -> None:
        """Nothing seen yet."""
        self._embedder, self._entities = embedder, entities
        self._telling = FrequentEntityFilter.for_speakers(speakers)

    async def encode(self, messages: Sequence[Message]) -> list[Encoded]:
        """One value per message, in order.

        Raises:
            ServiceError: When the embedder failed.
        """
        spoken = [m for m in messages if not is_blank(m.content)]
        texts = [m.content for m in spoken]
        vectors: Sequence[Vector] = list(await self._embedder.embed(texts)) if texts else []
        encoded = {
            m.message_id: Encoded(m, vector, self._telling.keep(entities))
            for m, vector, entities in zip(spoken, vectors, self._entities.extract(texts), strict=True)
        }
        return [encoded.get(m.message_id) or Encoded(m, None, frozenset()) for m in messages]

    def resume(self, encoded: Sequence[Encoded]) -> None:
        """Count stored messages, whose entities are already filtered."""
        for item in encoded:
            self._telling.keep(item.entities)
