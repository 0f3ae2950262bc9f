"""One benchmark run, and what of it decides its results.

`RunConfig.identity()` is what a run *means*: it is hashed into the run's folder. `ExecutionConfig`
says only how fast it goes and stays outside the hash, so tuning never creates a "new" result.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, model_validator

from memsif_ray.config.memory import MemoryConfig
from memsif_ray.config.models import EmbedderConfig, ModelConfig
from memsif_ray.config.stages import DiagnosisConfig, JudgingConfig, LabellingConfig, PackingConfig
from memsif_ray.config.strict import Strict


class DataConfig(Strict):
    """Which questions about which conversations."""

    dataset: Literal["sample", "locomo", "longmemeval"] = "sample"
    path: Path | None = None
    conversations: tuple[str, ...] = Field((), description="Ids to keep; empty = all")
    questions: tuple[str, ...] = Field((), description="Question ids to keep; empty = all")
    limit: int | None = Field(None, ge=1, description="At most this many questions per conversation")
    adversarial: bool = Field(True, description="Also ask questions whose right reply is to abstain")
    point_in_time: bool = Field(False, description="LongMemEval: drop sessions dated after the question")

    @model_validator(mode="after")
    def _has_path(self) -> DataConfig:
        if self.dataset != "sample" and self.path is None:
            raise ValueError(f"dataset {self.dataset!r} needs a path: pass --data FILE")
        return self


class ExecutionConfig(Strict):
    """How fast, never what: outside the fingerprint."""

    output: Path = Path("runs")
    shards: int = Field(2, ge=1, description="Stateful shard actors")
    units_in_flight: int = Field(8, ge=1, description="Conversations worked on at a time")
    ray_address: str | None = Field(None, description="None starts or joins a local Ray")


class RunConfig(Strict):
    """One benchmark run."""

    data: DataConfig = DataConfig()
    methods: tuple[str, ...] = ("memsif", "naive-rag", "full-context")
    runs: int = Field(1, ge=1, description="Independent runs; a question's score is their mean (paper: 3)")
    seed: int = 2026
    model: ModelConfig = ModelConfig()
    judge: ModelConfig | None = Field(None, description="None = the same endpoint as `model`")
    grade: bool = Field(True, description="False skips the LLM judge; F1 and evidence recall remain")
    judging: JudgingConfig = JudgingConfig()
    state: Literal["online", "cold"] = Field(
        "online",
        description="online = what a question teaches helps later ones (paper); cold = each question meets "
        "the memory as it was built",
    )
    order: Literal["fixed", "per-run"] = Field(
        "fixed",
        description="Of the questions of a conversation: the same in every run (paper), or every run its own",
    )
    embedder: EmbedderConfig = EmbedderConfig()
    entities: Literal["auto", "spacy", "rules"] = "auto"
    memory: MemoryConfig = MemoryConfig()
    baselines: dict[str, dict[str, Any]] = Field(
        {}, description="Settings of compared systems by name, e.g. {com: {beta: 0.5}}"
    )
    packing: PackingConfig = PackingConfig()
    labelling: LabellingConfig = LabellingConfig()
    diagnosis: DiagnosisConfig = DiagnosisConfig()
    answer_max_tokens: int = Field(512, ge=1)
    answer_temperature: float = Field(0.1, ge=0)
    execution: ExecutionConfig = ExecutionConfig()

    def identity(self) -> dict[str, Any]:
        """The part that decides results, as plain data.

        Where an endpoint is reached is not part of it: a server that moves is still the same model. Nor are
        settings that came later, while they have their default: what ran before them meant the same.
        """
        plain: dict[str, Any] = self.model_dump(mode="json", exclude={"execution"})
        for dotted in _LATER:
            _drop_default(plain, _PLAIN_DEFAULTS, dotted)
        for name in ("model", "judge", "embedder"):
            for how in ("base_url", "api_key_env", "max_in_flight", "deadline_s"):
                if plain[name]:
                    plain[name].pop(how, None)
        return plain


_LATER = (
    "state",
    "order",
    "packing",
    "labelling",
    "diagnosis",
    "judging",
    "memory.segments.unit",
    "memory.trajectories.enabled",
)
"""Settings that runs were fingerprinted without before they existed."""
_PLAIN_DEFAULTS: dict[str, Any] = RunConfig().model_dump(mode="json")


def _drop_default(plain: dict[str, Any], defaults: dict[str, Any], dotted: str) -> None:
    *parents, last = dotted.split(".")
    for parent in parents:
        plain, defaults = plain[parent], defaults[parent]
    if plain[last] == defaults[last]:
        del plain[last]


def fingerprint(*parts: Any) -> str:
    """Twelve hex digits that change when any part changes; parts are plain data or strings."""
    text = json.dumps(parts, sort_keys=True, ensure_ascii=False, default=str)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
