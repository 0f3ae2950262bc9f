"""Typed, frozen configuration."""

from memsif_ray.config.files import load_run_config, load_sweep, parse_settings, read_settings
from memsif_ray.config.memory import (
    ActiveFactConfig,
    CoreFactConfig,
    Decider,
    MatchingConfig,
    MemoryConfig,
    RetrievalConfig,
    SegmentConfig,
    TrajectoryConfig,
)
from memsif_ray.config.models import EmbedderConfig, ModelConfig
from memsif_ray.config.run import DataConfig, ExecutionConfig, RunConfig, fingerprint
from memsif_ray.config.stages import (
    DiagnosisConfig,
    JudgeProfile,
    JudgingConfig,
    LabellingConfig,
    PackingConfig,
)
from memsif_ray.config.strict import Strict

__all__ = [
    "ActiveFactConfig",
    "CoreFactConfig",
    "DataConfig",
    "Decider",
    "DiagnosisConfig",
    "EmbedderConfig",
    "ExecutionConfig",
    "JudgeProfile",
    "JudgingConfig",
    "LabellingConfig",
    "MatchingConfig",
    "MemoryConfig",
    "ModelConfig",
    "PackingConfig",
    "RetrievalConfig",
    "RunConfig",
    "SegmentConfig",
    "Strict",
    "TrajectoryConfig",
    "fingerprint",
    "load_run_config",
    "load_sweep",
    "parse_settings",
    "read_settings",
]
