"""What every compared system offers: one Protocol, so that all are driven, metered and graded alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, TypeVar, runtime_checkable

from pydantic import ValidationError

from memsif_ray.config import RunConfig, Strict
from memsif_ray.errors import ConfigError
from memsif_ray.memory.tools import Capabilities, Tools
from memsif_ray.types import Context, Conversation, Question

__all__ = [
    "AnswersItself",
    "Capabilities",
    "MemoryMethod",
    "SeesEvidence",
    "Tables",
    "Tools",
    "settings_of",
]

Settings = TypeVar("Settings", bound=Strict)

Tables = dict[str, Sequence[Any]]
"""Table name → frozen values (e.g. `segments` → Segment); `storage.tables` turns them into Parquet."""


class MemoryMethod(Protocol):
    """A memory of one conversation. State never crosses conversations."""

    name: str

    async def ingest(self, conversation: Conversation) -> None:
        """Build memory from a whole history. Independent of questions."""
        ...

    def dump(self) -> Tables:
        """Everything memory holds and every decision it made, as values for tables."""
        ...

    async def load(self, conversation: Conversation, tables: Tables) -> None:
        """Restore what `ingest` built, from a dump, without a model call.

        Raises:
            EmbedderMismatch: When the dump's vectors are another embedder's.
        """
        ...

    async def context(self, question: Question) -> Context:
        """The evidence for one question, within the configured token budget. Changes no state."""
        ...

    async def learn(self, question: Question, context: Context) -> None:
        """Called once after the answer exists, in question order; sees neither answer nor grade."""
        ...


@runtime_checkable
class SeesEvidence(Protocol):
    """A control that is told where the answers are. No other method ever sees anything gold."""

    def see_evidence(self, evidence: Mapping[str, Sequence[str]]) -> None:
        """Learn the gold message ids by question id; called once, before the first question."""
        ...


@runtime_checkable
class AnswersItself(Protocol):
    """A control that needs no model to answer. Every other method is answered for by the shared prompt."""

    async def answer(self, question: Question, context: Context) -> str:
        """The answer to one question."""
        ...


def settings_of(config: RunConfig, method: str, kind: type[Settings]) -> Settings:
    """What the run sets for a method, e.g. `baselines.com.beta`, over the method's defaults.

    Raises:
        ConfigError: When a setting is unknown or out of range; names the method and the setting.
    """
    try:
        return kind.model_validate(config.baselines.get(method, {}))
    except ValidationError as exc:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in exc.errors())
        raise ConfigError(f"baselines.{method}: {wrong}") from exc
