"""What an answer is given to rest on."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from memsif_ray.types.decisions import Decision


@dataclass(frozen=True, slots=True)
class Evidence:
    """Query-local evidence: lives for one answer (MemSIF 3.4)."""

    statement: str
    subject: str
    message_ids: tuple[str, ...]
    segment_ids: tuple[str, ...]
    timestamp: datetime
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One line of an answer context.

    `kind` is `core`, `active`, `evidence`, `message`, or the kind of a compared system's note. `score` is its
    relevance to the question, higher is better: a hard token cap keeps the best lines.
    """

    item_id: str
    kind: str
    text: str
    message_ids: tuple[str, ...]
    timestamp: datetime | None = None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Context:
    """What a method hands to the shared answer prompt, in reading order.

    Attributes:
        items: The lines.
        retrieved_ids: Message ids ranked by interaction retrieval, best first (may exceed `items`).
        evidence: Query-local evidence behind `items`, for ActiveFact accumulation.
        decisions: Sufficiency and evidence decisions made on the way.
    """

    items: tuple[ContextItem, ...]
    retrieved_ids: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def text(self) -> str:
        """The lines joined by newlines."""
        return "\n".join(item.text for item in self.items)

    @property
    def message_ids(self) -> frozenset[str]:
        """Every message id that some item rests on."""
        return frozenset(mid for item in self.items for mid in item.message_ids)
