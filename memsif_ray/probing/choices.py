"""Probes of decisions that pick one of a few answers, through the product's own judges and prompts."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from memsif_ray.config import MemoryConfig
from memsif_ray.memory.corefacts import Choice, choose_by_model, choose_by_rule
from memsif_ray.memory.encoding import Encoder
from memsif_ray.memory.extraction import Candidate
from memsif_ray.memory.judges import boundary_judge, trajectory_judge
from memsif_ray.memory.matching import Phi, Pool, jaccard
from memsif_ray.memory.presets import resolve_thresholds
from memsif_ray.memory.segments import BoundaryCase, Encoded
from memsif_ray.memory.sufficiency import sufficient_by_model, sufficient_by_rule
from memsif_ray.memory.tools import Tools
from memsif_ray.memory.trajectories import TrajectoryCase
from memsif_ray.probing.items import (
    BoundaryItem,
    ConsolidationItem,
    Dated,
    SufficiencyItem,
    TrajectoryItem,
    as_messages,
    load_items,
)
from memsif_ray.probing.trials import Trial
from memsif_ray.types import Category, Fact, Message, Op, Question, Segment, Track

_COIN = 0.5
_OPERATIONS = 4
_LEARNED = datetime(2024, 5, 1)
_CANDIDATE = "candidate"


async def probe_boundary(tools: Tools, config: MemoryConfig, *, use_llm: bool) -> Trial:
    """Does a message continue the open segment?"""
    thresholds = resolve_thresholds(config, tools.embedder.model_id)
    midpoint = (thresholds.tau_split + thresholds.tau_merge) / 2
    judge = boundary_judge(tools, use_llm=use_llm, midpoint=midpoint)
    items = load_items("boundary", BoundaryItem)
    cases = [await _boundary_case(item, tools, config) for item in items]
    rulings = await asyncio.gather(*map(judge, cases))
    return _coins(
        [
            ruling.continues == item.continues and ruling.decided_by != "fallback"
            for item, ruling in zip(items, rulings, strict=True)
        ]
    )


async def probe_trajectory(tools: Tools, config: MemoryConfig, *, use_llm: bool) -> Trial:
    """Is a segment the same evolving event as a candidate?"""
    items = load_items("trajectory", TrajectoryItem)
    tau_join = resolve_thresholds(config, tools.embedder.model_id).tau_join

    async def right(item: TrajectoryItem) -> bool:
        parts = {"segment": _messages(item.segment), _CANDIDATE: _messages(item.candidate)}
        judge = trajectory_judge(tools, use_llm=use_llm, tau_join=tau_join, messages_of=parts.__getitem__)
        ruling = await judge(await _trajectory_case(parts, tools, config))
        found = _CANDIDATE in ruling.compatible
        return found == item.compatible and ruling.decided_by != "fallback"

    return _coins(await asyncio.gather(*map(right, items)))


async def probe_sufficiency(tools: Tools, config: MemoryConfig, *, use_llm: bool) -> Trial:
    """Do facts answer a question?"""

    async def right(item: SufficiencyItem) -> bool:
        question = Question(item.id, "probe", 0, item.question, Category.SINGLE_HOP)
        if use_llm:
            ruling = await sufficient_by_model(question, item.facts, chat=tools.chat, scope=tools.scope)
        else:
            ruling = sufficient_by_rule(question, item.facts)
        found = ruling.outcome == "sufficient"
        return found == item.sufficient and ruling.decided_by != "fallback"

    return _coins(await asyncio.gather(*map(right, load_items("sufficiency", SufficiencyItem))))


async def probe_consolidate(tools: Tools, config: MemoryConfig, *, use_llm: bool) -> Trial:
    """Add, Update, Merge or Supersede? Right only with the right target."""

    async def right(item: ConsolidationItem) -> bool:
        candidate = Candidate(
            item.subject, "", item.candidate.attribute, item.candidate.statement, ("D1:0",), "", _LEARNED
        )
        offered = _offered(item)
        if use_llm:
            choice = await choose_by_model(candidate, offered, chat=tools.chat, scope=tools.scope)
        else:
            choice = choose_by_rule(candidate, offered)
        return _is_right(choice, item)

    rights = await asyncio.gather(*map(right, load_items("consolidate", ConsolidationItem)))
    return Trial(sum(rights), len(rights), 1 / _OPERATIONS)


def _coins(rights: Sequence[bool]) -> Trial:
    return Trial(sum(rights), len(rights), _COIN)


def _is_right(choice: Choice, item: ConsolidationItem) -> bool:
    return choice.op == Op(item.op) and bool(choice.targets) == (choice.op is not Op.ADD)


def _offered(item: ConsolidationItem) -> list[tuple[Fact, float]]:
    # The cosine plays no part in what either decider does with the facts it is offered.
    facts = [
        Fact(
            f"core_{n}",
            Track.CORE,
            item.subject,
            "",
            slot.attribute,
            slot.statement,
            ("D1:0",),
            (),
            datetime(2024, 1, 15),
        )
        for n, slot in enumerate(item.existing)
    ]
    return [(fact, 1.0) for fact in facts]


async def _boundary_case(item: BoundaryItem, tools: Tools, config: MemoryConfig) -> BoundaryCase:
    shown = as_messages((*item.before, item.message, *item.following))
    current, message = shown[: len(item.before)], shown[len(item.before)]
    following = shown[len(item.before) + 1 :][: config.segments.lookahead]
    *before, new = await _encoded([*current, message], tools)
    score = _phi(config).score(_pool(before).cosine(_pool([new]).direction), _overlap(before, [new]))
    return BoundaryCase(tuple(current), message, tuple(following), score)


async def _trajectory_case(
    parts: dict[str, list[Message]], tools: Tools, config: MemoryConfig
) -> TrajectoryCase:
    encoded = await _encoded([*parts["segment"], *parts[_CANDIDATE]], tools)
    size = len(parts["segment"])
    segment, candidate = encoded[:size], encoded[size:]
    pool = _pool(segment)
    score = _phi(config).score(_pool(candidate).cosine(pool.direction), _overlap(candidate, segment))
    ids = tuple(message.message_id for message in parts["segment"])
    value = Segment("segment", 0, size, ids, pool.direction, frozenset(pool.entities))
    return TrajectoryCase(value, ((_CANDIDATE, score, (_CANDIDATE,)),))


async def _encoded(messages: Sequence[Message], tools: Tools) -> list[Encoded]:
    speakers = sorted({message.speaker for message in messages})
    return await Encoder(tools.embedder, tools.entities, speakers).encode(messages)


def _pool(encoded: Sequence[Encoded]) -> Pool:
    pool = Pool.empty(next((len(e.vector) for e in encoded if e.vector is not None), 0))
    for item in encoded:
        pool.add(None if item.vector is None else np.asarray(item.vector), item.entities)
    return pool


def _overlap(a: Sequence[Encoded], b: Sequence[Encoded]) -> float:
    return jaccard(_pool(a).entities, _pool(b).entities)


def _phi(config: MemoryConfig) -> Phi:
    return Phi(config.matching.alpha, config.matching.normalisation)


def _messages(part: Dated) -> list[Message]:
    return as_messages(part.messages, date=part.date)
