"""Messages with their embeddings and key entities; blank ones keep their place and get neither."""

from __future__ import annotations

from collections.abc import Callable, Sequence

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
        meet: Told of everyone else who begins to speak; their names do not count from then on.
    """

    def __init__(
        self,
        embedder: Embedder,
        entities: EntityExtractor,
        speakers: Sequence[str],
        *,
        meet: Callable[[str], None] | None = None,
    ) -> None:
        """Nothing seen yet."""
        self._embedder, self._entities, self._meet = embedder, entities, meet
        self._speakers = set(speakers)
        self._telling = FrequentEntityFilter.for_speakers(speakers)
        self.found: dict[str, frozenset[str]] = {}
        """Message id → every entity found, before filtering: what storage keeps."""

    async def encode(self, messages: Sequence[Message]) -> list[Encoded]:
        """One value per message, in order.

        Raises:
            ServiceError: When the embedder failed.
        """
        spoken = [m for m in messages if not is_blank(m.content)]
        texts = [m.content for m in spoken]
        vectors: Sequence[Vector] = list(await self._embedder.embed(texts)) if texts else []
        self.found.update(zip((m.message_id for m in spoken), self._entities.extract(texts), strict=True))
        vector_of = dict(zip((m.message_id for m in spoken), vectors, strict=True))
        return [self._encoded(m, vector_of.get(m.message_id)) for m in messages]

    def resume(self, message: Message, vector: Vector | None, found: frozenset[str]) -> Encoded:
        """Take in a stored message, in order, as `encode` once did."""
        if vector is not None:
            self.found[message.message_id] = found
        return self._encoded(message, vector)

    def _encoded(self, message: Message, vector: Vector | None) -> Encoded:
        if message.speaker not in self._speakers:
            self._speakers.add(message.speaker)
            self._telling.meet(message.speaker)
            if self._meet is not None:
                self._meet(message.speaker)
        if vector is None:
            return Encoded(message, None, frozenset())
        return Encoded(message, vector, self._telling.keep(self.found[message.message_id]))
