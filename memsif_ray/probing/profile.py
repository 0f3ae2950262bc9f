"""A model's profile: what was measured, as plain data and back, and what it may therefore decide."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from memsif_ray import prompts
from memsif_ray.config import RunConfig, fingerprint
from memsif_ray.memory.tools import CAPABLE, Capabilities
from memsif_ray.probing.items import items_fingerprint
from memsif_ray.probing.trials import Measured, Trial

DECISIONS: Mapping[str, str] = {
    "boundary": "boundary",
    "trajectory": "trajectory",
    "extract": "extract",
    "consolidate": "consolidate",
    "sufficiency": "sufficiency",
    "distil": "distil",
    "synthesise": "promote",
}
"""Fields of `Capabilities`, each with the prompt that puts it to a model."""

_SETTINGS = {
    "boundary": ("segments", "decide"),
    "trajectory": ("trajectories", "decide"),
    "extract": ("core", "extract"),
    "consolidate": ("core", "consolidate"),
    "sufficiency": ("retrieval", "sufficiency"),
    "distil": ("retrieval", "evidence"),
    "synthesise": ("active", "synthesise"),
}


@dataclass(frozen=True, slots=True)
class Profile:
    """What was measured of one model."""

    model: str
    measured: tuple[Measured, ...]

    @property
    def capabilities(self) -> Capabilities:
        """The decisions it is trusted with. One measured with an older prompt counts as not measured."""
        current = {m.decision: m.trusted for m in self.measured if m.basis == basis(m.decision)}
        return Capabilities(**(asdict(CAPABLE) | current))

    @property
    def is_current(self) -> bool:
        """Whether every decision was measured with the prompts and items of this program."""
        return {m.decision for m in self.measured if m.basis == basis(m.decision)} == set(DECISIONS)

    def to_plain(self) -> dict[str, Any]:
        """Plain data for JSON; scores stand beside the counts for a person to read."""
        return {"model": self.model, "measured": [_plain(one) for one in self.measured]}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Profile:
        """The profile that `to_plain` wrote."""
        return cls(plain["model"], tuple(_measured(one) for one in plain["measured"]))


def basis(decision: str) -> str:
    """Fingerprint of the prompt and the items that a measurement rests on."""
    return fingerprint(prompts.load(DECISIONS[decision]).fingerprint, items_fingerprint(decision))


def settled(config: RunConfig, capabilities: Capabilities) -> RunConfig:
    """The configuration with every `auto` decider replaced by what it means for this model.

    So that the fingerprint of a run says who decided, and a new profile makes a new run.
    """
    plain = config.model_dump()
    for decision, (section, name) in _SETTINGS.items():
        if plain["memory"][section][name] == "auto":
            words = ("distil", "extract") if decision == "distil" else ("llm", "rule")
            plain["memory"][section][name] = words[0 if getattr(capabilities, decision) else 1]
    return RunConfig.model_validate(plain)


def _plain(one: Measured) -> dict[str, Any]:
    scores = {"model_score": round(one.model.score, 4), "rule_score": round(one.rule.score, 4)}
    return {**asdict(one), **scores, "p_value": round(one.model.p_value, 6), "trusted": one.trusted}


def _measured(plain: Mapping[str, Any]) -> Measured:
    return Measured(plain["decision"], _trial(plain["model"]), _trial(plain["rule"]), plain["basis"])


def _trial(plain: Mapping[str, Any]) -> Trial:
    return Trial(**{field.name: plain[field.name] for field in fields(Trial)})
