"""Packing in the read path: after a method's context, before the answer prompt, for all methods alike."""

from __future__ import annotations

from dataclasses import dataclass, replace

from memsif_ray.config import PackingConfig
from memsif_ray.memory.tools import Tools
from memsif_ray.packing.actions import Action
from memsif_ray.packing.candidates import candidates
from memsif_ray.packing.features import Features, features_of
from memsif_ray.packing.operators import Notes, Packed, joined, pack
from memsif_ray.packing.router import Choice, Router, load_router
from memsif_ray.types import Context, Question


@dataclass(frozen=True, slots=True)
class Packing:
    """What was decided for one question: a row of [`PACKINGS`][memsif_ray.schemas.PACKINGS].

    Attributes:
        question_id: Of the question.
        policy: As configured.
        budget: Tokens that the rendered context may cost.
        action: What was done.
        reason: Why a router retained although another action promised more; "" otherwise.
        flag: Why nothing was packed; see `packing.operators.Flag`.
        candidates: Lines on offer.
        candidate_tokens: Their cost.
        packed: Lines that the answer prompt shows.
        tokens: Their cost.
        shortened: Whether a generated text was cut.
        fallbacks: Texts that a model failed to write, so that raw lines stand in their place.
        utilities: Predicted, in the order of `ACTIONS`; empty when no router was asked.
        feature_names: Of `features`; empty likewise.
        features: What the router saw.
    """

    question_id: str
    policy: str
    budget: int
    action: str
    reason: str
    flag: str
    candidates: int
    candidate_tokens: int
    packed: int
    tokens: int
    shortened: bool
    fallbacks: int
    utilities: tuple[float, ...]
    feature_names: tuple[str, ...]
    features: tuple[float, ...]


def router_of(config: PackingConfig, *, embedder: str) -> Router | None:
    """The router of a run; None when its policy needs none.

    Raises:
        ConfigError: When it cannot be used.
        EmbedderMismatch: When it was trained with another embedder.
    """
    return load_router(config.router, embedder=embedder) if config.router is not None else None


async def within_budget(
    context: Context, question: Question, *, config: PackingConfig, router: Router | None, tools: Tools
) -> tuple[Context, Packing | None]:
    """The context as the configured policy packs it, and what was decided; unchanged without a budget.

    Raises:
        ServiceError: When a model failed.
    """
    if config.budget is None:
        return context, None
    notes = candidates(context, cap=max(config.candidate_tokens, config.budget), tokens=tools.tokens)
    choice, features = await _chosen(notes, question, config=config, router=router, tools=tools)
    packed = await pack(choice.action, notes, question=question, budget=config.budget, tools=tools)
    shown = replace(context, items=packed.items, decisions=(*context.decisions, *packed.decisions))
    cost = tools.tokens.count(joined(notes))
    return shown, _row(question, config, choice, features, packed, offered=len(notes), cost=cost)


async def _chosen(
    notes: Notes, question: Question, *, config: PackingConfig, router: Router | None, tools: Tools
) -> tuple[Choice, Features | None]:
    """A router is asked only where there is something to decide."""
    if router is None:
        return Choice(Action(config.policy), ()), None
    if not notes or not config.budget:
        return Choice(Action.RETAIN, ()), None
    features = await features_of(notes, question, budget=config.budget, tools=tools, kind=router.feature_set)
    safe = config.policy == "router-safe"
    return router.choose(features, budget=config.budget, safe=safe), features


def _row(
    question: Question,
    config: PackingConfig,
    choice: Choice,
    features: Features | None,
    packed: Packed,
    *,
    offered: int,
    cost: int,
) -> Packing:
    return Packing(
        question_id=question.question_id,
        policy=config.policy,
        budget=config.budget or 0,
        action=choice.action,
        reason=choice.reason,
        flag=packed.flag,
        candidates=offered,
        candidate_tokens=cost,
        packed=len(packed.items),
        tokens=packed.tokens,
        shortened=packed.shortened,
        fallbacks=len(packed.decisions),
        utilities=choice.utilities,
        feature_names=features.names if features else (),
        features=features.values if features else (),
    )
