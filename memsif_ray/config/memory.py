"""What MemSIF's memory is made of. Defaults are the paper's (Table 13) unless a comment says why not."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from memsif_ray.config.strict import Strict

Decider = Literal["auto", "llm", "rule"]
"""Who makes a decision. `auto` asks the model's capability profile (`memory.tools`)."""


class MatchingConfig(Strict):
    """φ of equation (1)."""

    alpha: float = Field(0.8, ge=0, le=1, description="Weight of semantic similarity against entity overlap")
    normalisation: Literal["clip", "affine"] = Field(
        "clip", description="clip = max(0, cos); affine = (1 + cos) / 2, under which splits all but vanish"
    )


class SegmentConfig(Strict):
    """Topical Segments. Thresholds of None mean the preset of the embedder in use."""

    tau_split: float | None = Field(None, description="φ at or below it opens a segment (paper: 0.325)")
    tau_merge: float | None = Field(None, description="φ at or above it appends (paper: 0.60)")
    decide: Decider = "auto"
    lookahead: int = Field(2, ge=0, description="Following messages shown to a boundary judge; 0 = streaming")
    unit: Literal["topic", "message"] = Field(
        "topic", description="message = every message is a unit of its own (the ablation w/o TS)"
    )

    @model_validator(mode="after")
    def _ordered(self) -> SegmentConfig:
        if self.tau_split is not None and self.tau_merge is not None and self.tau_split >= self.tau_merge:
            raise ValueError(f"tau_split ({self.tau_split}) must lie below tau_merge ({self.tau_merge})")
        return self


class TrajectoryConfig(Strict):
    """Event Trajectories."""

    enabled: bool = Field(True, description="False leaves Topical Segments alone (the ablation w/o ET)")
    top_k: int = Field(3, ge=1)
    decide: Decider = "auto"
    tau_join: float | None = Field(
        None, description="Rule only: φ at or above it joins; None = embedder preset"
    )


class CoreFactConfig(Strict):
    """CoreFact track and its schema Y_core, fixed for a run (3.3)."""

    enabled: bool = True
    types: dict[str, str] = {
        "Identity": "static attributes of a person, such as occupation, home or age",
        "Event": "time-anchored occurrences, such as travel, achievements or appointments",
        "Preference": "subjective attitudes, such as liked food, entertainment or career wishes",
        "Relation": "social ties, such as family, friends, colleagues or pets",
    }
    extract: Decider = "auto"
    consolidate: Decider = "auto"
    top_k: int = Field(3, ge=1, description="Existing facts offered to a consolidation decision")


class ActiveFactConfig(Strict):
    """ActiveFact track (3.4)."""

    enabled: bool = True
    theta_source: float = Field(0.45, ge=0, le=1)
    theta_query: float = Field(0.45, ge=0, le=1)
    tau_compatible: float = Field(0.55, description="Cosine at or above it: statements are compatible")
    tau_duplicate_query: float = Field(0.95, description="Cosine at or above it: the same question again")
    synthesise: Decider = "auto"


class RetrievalConfig(Strict):
    """Read path (3.5) and interaction retrieval."""

    facts_top_k: int = Field(10, ge=1)
    ranking: Literal["structural", "dense"] = Field(
        "structural",
        description="structural fuses dense, lexical and structural signals; dense is the paper's",
    )
    sufficiency: Decider = "auto"
    evidence: Literal["auto", "distil", "extract", "none"] = Field(
        "auto",
        description="distil = an LLM writes statements (paper); extract = near-verbatim, dated, no LLM; "
        "none = facts alone (the ablation w/o AF)",
    )
    context_tokens: int = Field(1024, ge=1, description="Token budget of an answer context")
    # LoCoMo 26 and 44, 0.5B model: token-F1 0.34 from 1,024 tokens of ranked messages, 0.39 from 512.
    extract_tokens: int = Field(
        512, ge=1, description="Most of it that `extract` fills: more only distracts the models that need it"
    )


class MemoryConfig(Strict):
    """Everything that shapes MemSIF's memory."""

    matching: MatchingConfig = MatchingConfig()
    segments: SegmentConfig = SegmentConfig()
    trajectories: TrajectoryConfig = TrajectoryConfig()
    core: CoreFactConfig = CoreFactConfig()
    active: ActiveFactConfig = ActiveFactConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
