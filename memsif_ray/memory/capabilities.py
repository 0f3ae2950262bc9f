"""Which decisions a chat model can be trusted with, and how `auto` settings resolve.

A weak model is used only where it beats chance: `memsif doctor --model` measures a model on a small
probe set (evaluation lives with the probe; this module only holds the outcome). A model that nobody
has probed is treated as capable, which is the paper's setting.
"""

from __future__ import annotations

from dataclasses import dataclass

from memsif_ray.config import Decider


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
