"""What is done with what memory finds: packed under a budget, labelled for a router, graded."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

from pydantic import AfterValidator, Field, model_validator

from memsif_ray.config.strict import Strict


class PackingConfig(Strict):
    """A hard token cap on what the answer prompt shows, for every method alike, and how to keep it (OAS)."""

    budget: int | None = Field(None, ge=0, description="Tokens of the rendered context; None = no cap")
    policy: Literal["retain", "merge", "abstract", "rewrite", "router", "router-safe"] = "retain"
    router: Annotated[Path, AfterValidator(Path.resolve)] | None = Field(
        None, description="File of a trained router, on storage that every node sees"
    )
    candidate_tokens: int = Field(
        2048, ge=1, description="Best lines that are offered to any policy (the paper's candidate cap)"
    )

    @model_validator(mode="after")
    def _complete(self) -> PackingConfig:
        if self.policy != "retain" and self.budget is None:
            raise ValueError(f"policy {self.policy!r} packs into a budget: pass --budget TOKENS")
        if self.policy.startswith("router") != (self.router is not None):
            raise ValueError("policies router and router-safe, and no other, need a router: --router FILE")
        return self


class LabellingConfig(Strict):
    """Offline outcomes that a packing router learns from: every action at every budget (OAS, 3.3, 7.3)."""

    evidence: Literal["gold", "bm25"] = Field(
        "gold",
        description="gold = the turns that hold the answer; bm25 = the best turns of the whole history",
    )
    turns: int = Field(20, ge=1, description="Turns that bm25 finds; packing.candidate_tokens caps them")
    budgets: tuple[Annotated[int, Field(gt=0)], ...] = Field((), description="Empty = the paper's")
    realisations: int = Field(3, ge=1, description="Repeats per question, budget and action")
    utility: Literal["f1", "rules", "judge"] = Field(
        "f1",
        description="f1 = LoCoMo's score; rules = that, accepted or not, and exact dates; judge = a model",
    )
    sample: int | None = Field(
        None, ge=1, description="Questions, drawn over types and lengths of evidence; None = all"
    )


class DiagnosisConfig(Strict):
    """What the diagnoses that ask a model look at (MemSIF, Appendix A)."""

    ids: Literal["strict", "repaired"] = Field(
        "strict", description="Which gold evidence ids count, as for non-contiguous evidence"
    )
    questions: int | None = Field(
        None, ge=1, description="At most so many questions, drawn over categories; None = all"
    )
    pairs: int | None = Field(
        None, ge=1, description="At most so many sampled pairs per bucket; None = all (100)"
    )


JudgeProfile = Literal["memsif", "longmemeval", "lenient", "strict-exact"]
"""Names in `evaluation.profiles`."""


class JudgingConfig(Strict):
    """How a judge grades."""

    profile: JudgeProfile = "memsif"
    votes: int = Field(1, ge=1, description="Times each answer is judged; more than half of them decide")

    @property
    def label(self) -> str:
        """What verdicts call it."""
        return self.profile if self.votes == 1 else f"{self.profile}+{self.votes}-votes"
