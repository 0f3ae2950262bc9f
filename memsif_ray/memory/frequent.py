"""Entities that occur nearly everywhere tell no two messages apart, so they do not count as shared."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from dataclasses import dataclass, field

from memsif_ray.memory.subjects import name_key


@dataclass(slots=True)
class FrequentEntityFilter:
    """Drops speakers' names and entities of many messages, in one pass over a conversation.

    What is kept of a message depends on it and the messages before it only, never on later ones, so a
    stream and a replay of it give the same sets.

    Attributes:
        names: Keys never kept; see `for_speakers`.
        max_share: Largest share of messages that may hold an entity.
        min_messages: Before so many messages shares mean nothing, and only `names` are dropped.
        seen: Messages seen so far.
        counts: In how many of them each entity occurred.
    """

    names: frozenset[str] = frozenset()
    max_share: float = 0.2
    min_messages: int = 10
    seen: int = 0
    counts: Counter[str] = field(default_factory=Counter)

    @classmethod
    def for_speakers(cls, speakers: Iterable[str]) -> FrequentEntityFilter:
        """A filter for a conversation between `speakers`: full names and their parts never count."""
        telling = cls()
        for speaker in speakers:
            telling.meet(speaker)
        return telling

    def meet(self, speaker: str) -> None:
        """From now on the name and its parts never count."""
        key = name_key(speaker)
        self.names = self.names.union((key, *key.split()))

    def keep(self, entities: Set[str]) -> frozenset[str]:
        """Take in the entities of the next message and return those that distinguish it."""
        self.seen += 1
        self.counts.update(entities)
        kept = frozenset(entities) - self.names
        if self.seen < self.min_messages:
            return kept
        return frozenset(e for e in kept if self.counts[e] <= self.max_share * self.seen)
