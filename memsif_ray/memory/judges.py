"""The decisions of memory construction, each by an LLM or by its model-free counterpart."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.segments import BoundaryCase, BoundaryJudge, BoundaryRuling, boundary_rule
from memsif_ray.memory.terms import content_words
from memsif_ray.memory.tools import Tools
from memsif_ray.memory.trajectories import (
    TrajectoryCase,
    TrajectoryJudge,
    TrajectoryRuling,
    trajectory_rule,
)
from memsif_ray.prompts import load
from memsif_ray.prompts.asking import ask
from memsif_ray.types import Message

_SHOWN_BEFORE = 2
_SHOWN_OF_SEGMENT = 3
_SHOWN_OF_CANDIDATE = 2

SLIGHT = 12
"""Content words below which a segment says too little for a model to recognise its event; φ decides then.

Half of the segments on LoCoMo's conv-30 ("Thanks, Jon! Appreciate your support!"). Facts are extracted
from them all the same: "Back to oat milk" is short, too.
"""

MessagesOf = Callable[[str], Sequence[Message]]
"""Segment id → its messages."""


def is_slight(messages: Sequence[Message]) -> bool:
    """Does a segment say too little to be recognised as part of an event?"""
    return sum(len(content_words(message.content)) for message in messages) < SLIGHT


def boundary_judge(tools: Tools, *, use_llm: bool, midpoint: float) -> BoundaryJudge:
    """Judge of boundaries whose φ lies between the thresholds; an unreadable reply falls back to the rule."""

    async def by_rule(case: BoundaryCase) -> BoundaryRuling:
        return boundary_rule(case, midpoint=midpoint)

    async def by_model(case: BoundaryCase) -> BoundaryRuling:
        try:
            reply = await ask(
                tools.chat,
                "boundary",
                stage="boundary",
                scope=tools.scope,
                seed=tools.seed,
                max_tokens=16,
                current=case.current[-_SHOWN_BEFORE:],
                message=case.message,
                following=case.following,
            )
        except ReplyInvalid as exc:
            ruling = boundary_rule(case, midpoint=midpoint)
            return BoundaryRuling(ruling.continues, "fallback", str(exc))
        return BoundaryRuling(reply["continues"], "llm", f"lookahead {len(case.following)}")

    return by_model if use_llm else by_rule


def trajectory_judge(
    tools: Tools, *, use_llm: bool, tau_join: float, messages_of: MessagesOf
) -> TrajectoryJudge:
    """Judge of candidate trajectories; an unreadable reply falls back to the rule."""

    async def by_rule(case: TrajectoryCase) -> TrajectoryRuling:
        return trajectory_rule(case, tau_join=tau_join)

    async def by_model(case: TrajectoryCase) -> TrajectoryRuling:
        labels = {f"T{i}": candidate[0] for i, candidate in enumerate(case.candidates, start=1)}
        messages = messages_of(case.segment.segment_id)
        shown = [
            _shown(label, candidate[2], messages_of)
            for label, candidate in zip(labels, case.candidates, strict=True)
        ]
        try:
            reply = await ask(
                tools.chat,
                "trajectory",
                stage="trajectory",
                scope=tools.scope,
                seed=tools.seed,
                max_tokens=150,
                schema=_offering(tuple(labels)),
                date=f"{messages[0].timestamp:%Y-%m-%d}",
                messages=messages[:_SHOWN_OF_SEGMENT],
                candidates=shown,
            )
        except ReplyInvalid as exc:
            return TrajectoryRuling(trajectory_rule(case, tau_join=tau_join).compatible, "fallback", str(exc))
        return TrajectoryRuling(_compatible(reply["candidates"], labels), "llm")

    return by_model if use_llm else by_rule


def _compatible(items: Sequence[Any], labels: Mapping[str, str]) -> frozenset[str]:
    """Candidates that are or continue the same event and do not contradict it; unknown ids are ignored."""
    return frozenset(
        labels[item["id"]]
        for item in items
        if isinstance(item, Mapping)
        and item.get("id") in labels
        and (item.get("same_event") is True or item.get("continues_task") is True)
        and item.get("consistent") is True
    )


def _shown(label: str, segment_ids: Sequence[str], messages_of: MessagesOf) -> dict[str, object]:
    """A candidate by the beginning of its first segment and the end of its last."""
    first, last = messages_of(segment_ids[0]), messages_of(segment_ids[-1])
    chosen = first[:_SHOWN_OF_CANDIDATE]
    if len(segment_ids) > 1:
        chosen = [first[0], *last[-_SHOWN_OF_CANDIDATE + 1 :]]
    dates = f"{first[0].timestamp:%Y-%m-%d} to {last[-1].timestamp:%Y-%m-%d}"
    return {"label": label, "dates": dates, "messages": chosen}


def _offering(labels: tuple[str, ...]) -> dict[str, Any]:
    """The reply schema with the ids on offer, each once."""
    schema = load("trajectory").schema or {}
    items = schema["properties"]["candidates"]["items"]
    narrowed = {
        **items,
        "properties": {**items["properties"], "id": {"type": "string", "enum": list(labels)}},
    }
    candidates = {"type": "array", "minItems": 1, "maxItems": len(labels), "items": narrowed}
    return {**schema, "properties": {"candidates": candidates}}
