"""Put the whole probe set to a model, decision by decision."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Protocol

from memsif_ray.config import MemoryConfig
from memsif_ray.memory.tools import Tools
from memsif_ray.probing.choices import (
    probe_boundary,
    probe_consolidate,
    probe_sufficiency,
    probe_trajectory,
)
from memsif_ray.probing.profile import DECISIONS, Profile, basis
from memsif_ray.probing.statements import probe_distil, probe_extract, probe_synthesise
from memsif_ray.probing.trials import Measured, Trial


class _Probe(Protocol):
    def __call__(self, tools: Tools, config: MemoryConfig, *, use_llm: bool) -> Awaitable[Trial]: ...


_PROBES: dict[str, _Probe] = {
    "boundary": probe_boundary,
    "trajectory": probe_trajectory,
    "extract": probe_extract,
    "consolidate": probe_consolidate,
    "sufficiency": probe_sufficiency,
    "distil": probe_distil,
    "synthesise": probe_synthesise,
}


async def probe_model(
    model: str, tools: Tools, *, config: MemoryConfig | None = None, progress: Callable[[str], None]
) -> Profile:
    """Measure every decision: some 110 short calls.

    Args:
        model: Name to keep the profile under.
        tools: The model, and the embedder and entities that the counterparts need.
        config: Thresholds and fact types; None is the default memory.
        progress: Told the name of each decision before it is measured.

    Raises:
        ServiceError: When the model or the embedder failed.
    """
    config = config or MemoryConfig()
    measured = []
    for decision in DECISIONS:
        progress(decision)
        probe = _PROBES[decision]
        by_model = await probe(tools, config, use_llm=True)
        by_rule = await probe(tools, config, use_llm=False)
        measured.append(Measured(decision, by_model, by_rule, basis(decision)))
    return Profile(model, tuple(measured))
