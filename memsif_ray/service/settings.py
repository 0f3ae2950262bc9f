"""What a memory service is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from memsif_ray.config import MemoryConfig, PackingConfig, Strict
from memsif_ray.service.models import Policy


class ServiceConfig(Strict):
    """How conversations are remembered and answered, and how much is done at a time."""

    memory: MemoryConfig = MemoryConfig()
    prompt_facts: bool = Field(
        True,
        description="Write facts of the open topic after every ingest; False waits until the topic ends, "
        "which costs fewer extractions (paper)",
    )
    router: Annotated[Path, AfterValidator(Path.resolve)] | None = Field(
        None, description="Trained router behind the packing policy `auto`; without one it retains"
    )
    candidate_tokens: int = Field(2048, ge=1, description="Best lines that are offered to a packing policy")
    answer_max_tokens: int = Field(512, ge=1)
    answer_temperature: float = Field(0.1, ge=0)
    piece: int = Field(8, ge=1, description="Messages digested in one go, between which others get a turn")
    digests_in_flight: int = Field(8, ge=1, description="Conversations digested side by side")
    max_queued: int = Field(100, ge=1, description="Writes of one conversation that may wait for digestion")
    max_live: int = Field(1000, ge=1, description="Conversations held in memory")
    idle_s: float = Field(900.0, gt=0, description="A conversation that nobody asks for so long is let go of")
    write_wait_s: float = Field(30.0, gt=0, description="Longest wait of a correction behind a digestion")

    def packing(self, policy: Policy | None, budget: int) -> PackingConfig:
        """How notes are put into `budget` tokens; `auto` without a router retains."""
        if policy == "auto" and self.router is not None:
            return PackingConfig(
                budget=budget,
                policy="router-safe",
                router=self.router,
                candidate_tokens=self.candidate_tokens,
            )
        chosen = "retain" if policy in (None, "auto") else policy
        return PackingConfig(budget=budget, policy=chosen, candidate_tokens=self.candidate_tokens)
