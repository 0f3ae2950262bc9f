"""Thresholds belong to the embedder: the same φ means another thing to another model."""

from __future__ import annotations

import logging
from functools import cache
from typing import NamedTuple

from memsif_ray.config import MemoryConfig
from memsif_ray.errors import ConfigError
from memsif_ray.memory.matching import Normalisation

LOGGER = logging.getLogger(__name__)


class Thresholds(NamedTuple):
    """Where φ decides alone.

    Attributes:
        tau_split: φ at or below it opens a segment.
        tau_merge: φ at or above it appends.
        tau_join: φ at or above it joins a trajectory, when no LLM judges.
    """

    tau_split: float
    tau_merge: float
    tau_join: float


PAPER = Thresholds(0.325, 0.60, 0.4625)
"""MemSIF, Table 13, for Qwen3-Embedding-8B; the paper has no τ_join, so it is the midpoint."""

PRESETS: dict[str, dict[Normalisation, Thresholds]] = {
    "qwen3-embedding-8b": {"clip": PAPER, "affine": PAPER},
    # `memsif calibrate` on LoCoMo without conv-30, spaCy entities, α = 0.8.
    "all-minilm-l6-v2": {
        "clip": Thresholds(0.25, 0.44, 0.50),
        "affine": Thresholds(0.53, 0.63, 0.66),
    },
}
"""By the model's name without its organisation, in lower case."""


def resolve_thresholds(config: MemoryConfig, model_id: str) -> Thresholds:
    """Thresholds as configured, and for what is left open the preset of the embedder.

    An embedder without preset gets the paper's, with a warning: they fit no other model well.

    Raises:
        ConfigError: When a configured threshold and a preset one contradict each other.
    """
    split, merge = config.segments.tau_split, config.segments.tau_merge
    join = config.trajectories.tau_join
    if split is not None and merge is not None and join is not None:
        return Thresholds(split, merge, join)
    preset = _preset(model_id, config.matching.normalisation)
    chosen = Thresholds(
        preset.tau_split if split is None else split,
        preset.tau_merge if merge is None else merge,
        preset.tau_join if join is None else join,
    )
    if chosen.tau_split >= chosen.tau_merge:
        raise ConfigError(
            f"tau_split ({chosen.tau_split}) must lie below tau_merge ({chosen.tau_merge}); "
            f"one of them is the preset of {model_id!r}: set both"
        )
    return chosen


def _preset(model_id: str, normalisation: Normalisation) -> Thresholds:
    known = PRESETS.get(model_id.rpartition("/")[2].casefold())
    if known is None:
        _warn_once(model_id)
        return PAPER
    return known[normalisation]


@cache
def _warn_once(model_id: str) -> None:
    LOGGER.warning(
        "no thresholds for embedder %r; using those of Qwen3-Embedding-8B. Run `memsif calibrate`", model_id
    )
