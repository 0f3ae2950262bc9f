"""What a memory may use, and which decisions its chat model can be trusted with.

A weak model is used only where it beats chance: `memsif doctor --model` measures a model on a small
probe set, and this module holds the outcome. A model that nobody has probed is treated as capable,
which is the paper's setting.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from memsif_ray.config import Decider
from memsif_ray.ports import ChatModel, Embedder, EntityExtractor, TokenCounter
from memsif_ray.types import CallScope


@dataclass(frozen=True, slots=True)
class Capabilities:
    """One flag per delegated decision: True = ask the LLM, False = use the model-free counterpart."""

    boundary: bool = True
    trajectory: bool = True
    extract: bool = True
    consolidate: bool = True
    sufficiency: bool = True
    distil: bool = True
    synthesise: bool = True

    def uses_llm(self, decision: str, setting: Decider | str) -> bool:
        """Resolve a setting of `auto`, `llm`/`distil` or `rule`/`extract` for one decision."""
        if setting == "auto":
            return bool(getattr(self, decision))
        return setting in ("llm", "distil")


CAPABLE = Capabilities()
NO_MODEL = Capabilities(*(False,) * 7)


@dataclass(frozen=True, slots=True)
class Tools:
    """The ports a memory may use. Every call through them is metered by whoever built them.

    Attributes:
        capabilities: Resolves `auto` settings.
        seed: Seed of sampled calls.
        scope: On whose behalf calls are made; a question's id is added per question.
    """

    chat: ChatModel
    embedder: Embedder
    entities: EntityExtractor
    tokens: TokenCounter
    capabilities: Capabilities = CAPABLE
    seed: int = 0
    scope: CallScope = CallScope()

    def scope_of(self, question_id: str) -> CallScope:
        """The scope of one question's calls."""
        return replace(self.scope, question_id=question_id)
