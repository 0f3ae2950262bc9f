"""Search and answers from one view of a conversation's memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from memsif_ray.memory.reading import Query, fact_item, message_item
from memsif_ray.memory.tools import Tools
from memsif_ray.memory.view import MemoryView
from memsif_ray.methods.answering import answer_from
from memsif_ray.packing.policy import Packing, within_budget
from memsif_ray.packing.router import Router
from memsif_ray.service import ids
from memsif_ray.service.filters import Sieve
from memsif_ray.service.intake import local
from memsif_ray.service.models import AnswerRequest, Found, SearchRequest
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.service.shown import sources
from memsif_ray.service.store import StoredMessage
from memsif_ray.types import Answer, Context, ContextItem, Fact, Question

TOP_K = 10
"""Results of a search that names no limit."""
_OFFERED = 200
"""Facts, and messages, that may be packed into a token budget."""
_FUSION = 60.0
"""Reciprocal rank fusion: the rank at which a result is worth half of the first."""


@dataclass(frozen=True, slots=True)
class Scene:
    """One conversation as a question meets it.

    Attributes:
        key: Of the conversation.
        view: Its memory.
        known: Its messages by id.
    """

    key: str
    view: MemoryView
    known: Mapping[str, StoredMessage]


@dataclass(frozen=True, slots=True)
class Hit:
    """A line that was found, with the fact behind it, if any, and what its score is made of."""

    item: ContextItem
    fact: Fact | None
    parts: Mapping[str, float]


async def search(
    scene: Scene,
    request: SearchRequest,
    question: Question,
    *,
    config: ServiceConfig,
    tools: Tools,
    router: Router | None,
) -> tuple[list[Found], list[dict[str, Any]]]:
    """What memory would show, best first, and the decisions made on the way.

    Facts are ranked by cosine, messages by interaction retrieval. Their scores cannot be compared, so the two
    rankings are fused by rank. Messages say when something was said, not when it holds: a search for what
    was valid then finds facts only, unless messages are asked for by type.

    Raises:
        ServiceError: When a model failed.
    """
    query = await scene.view.query(question)
    if query is None:
        return [], []
    limit = _OFFERED if request.max_tokens is not None else request.top_k or TOP_K
    sieve = Sieve(request, scene.known)
    hits = [*_facts(scene, query, request, limit, sieve), *_messages(scene, query, limit, sieve)]
    hits.sort(key=lambda hit: (-hit.item.score, hit.item.item_id))
    trace: list[dict[str, Any]] = [{"kind": "candidates", "count": len(hits)}]
    if request.max_tokens is None:
        return [_found(hit.item, scene, request, hit) for hit in hits[:limit]], trace
    context = Context(tuple(hit.item for hit in hits))
    policy = config.packing(request.consolidation, request.max_tokens)
    packed, row = await within_budget(context, question, config=policy, router=router, tools=tools)
    trace += _packing_trace(row, request.consolidation, router)
    by_id = {(hit.item.kind, hit.item.item_id): hit for hit in hits}
    found = [_found(item, scene, request, by_id.get((item.kind, item.item_id))) for item in packed.items]
    return sorted(found, key=lambda one: -one.score), trace


async def answer(
    scene: Scene,
    request: AnswerRequest,
    question: Question,
    *,
    config: ServiceConfig,
    tools: Tools,
    router: Router | None,
) -> tuple[Answer, Context, list[Found]]:
    """The answer, the context that it was found in, and the evidence that the model was shown.

    Raises:
        ServiceError: When a model failed.
    """
    context = await scene.view.context(question)
    shown = context
    if request.max_tokens is not None:
        policy = config.packing(request.consolidation, request.max_tokens)
        shown, _ = await within_budget(context, question, config=policy, router=router, tools=tools)
    given = await answer_from(
        shown,
        question,
        tools=tools,
        max_tokens=config.answer_max_tokens,
        temperature=config.answer_temperature,
    )
    return given, context, [_found(item, scene) for item in shown.items]


def sufficient(context: Context) -> bool:
    """Were stored facts enough?"""
    return any(d.kind == "sufficiency" and d.outcome == "sufficient" for d in context.decisions)


def _facts(scene: Scene, query: Query, request: SearchRequest, limit: int, sieve: Sieve) -> list[Hit]:
    if not sieve.facts:
        return []
    enough = limit if sieve.every_fact else len(scene.view.core) + len(scene.view.active)
    ranked = _ranked_facts(scene.view, query, request, enough)
    wanted = [(fact, cosine) for fact, cosine in ranked if sieve.fact(fact)]
    return [
        Hit(fact_item(fact, 1 / (_FUSION + rank)), fact, {"cosine": cosine})
        for rank, (fact, cosine) in enumerate(wanted[:limit], start=1)
    ]


def _ranked_facts(
    view: MemoryView, query: Query, request: SearchRequest, limit: int
) -> list[tuple[Fact, float]]:
    """Facts with their cosines, best first: of now by the index, of another time by a scan."""
    as_of, valid_at = request.as_of, request.valid_at
    if as_of is None and valid_at is None:
        found = [hit for book in (view.core, view.active) for hit in book.search(query.vector, limit)]
    else:
        held = view.facts(as_of=as_of and local(as_of), valid_at=valid_at and local(valid_at))
        books = {"core": view.core, "active": view.active}
        found = [(f, float(np.dot(books[f.track.value].vector(f.fact_id), query.vector))) for f in held]
    return sorted(found, key=lambda hit: -hit[1])


def _messages(scene: Scene, query: Query, limit: int, sieve: Sieve) -> list[Hit]:
    if not sieve.messages:
        return []
    said = scene.view.said
    ranked = said.index.rank(query.question.text, query.vector, limit=limit if sieve.every_message else None)
    wanted = [found for found in ranked if sieve.message(said.messages[found.message_id])]
    return [
        Hit(message_item(said.messages[found.message_id], 1 / (_FUSION + rank)), None, found.parts)
        for rank, found in enumerate(wanted[:limit], start=1)
    ]


def _found(
    item: ContextItem, scene: Scene, request: SearchRequest | None = None, hit: Hit | None = None
) -> Found:
    fact = hit.fact if hit is not None else _fact(item, scene.view)
    first = item.message_ids[0] if item.message_ids else item.item_id
    with_sources = request is not None and "provenance" in request.include
    stored = scene.known.get(first)
    return Found(
        id=first if fact is None else ids.memory_id(scene.key, fact.fact_id),
        type=item.kind,
        text=item.text,
        score=item.score,
        score_parts={} if hit is None else dict(hit.parts),
        message_ids=item.message_ids,
        event_time=None if fact is None else fact.event_time,
        ingested_at=(stored.timestamp if stored else None) if fact is None else fact.ingested_at,
        valid_from=None if fact is None else fact.valid_from,
        valid_to=None if fact is None else fact.valid_to,
        status="active" if fact is None else fact.status,
        provenance=sources(item.message_ids, scene.known) if with_sources else None,
    )


def _fact(item: ContextItem, view: MemoryView) -> Fact | None:
    book = {"core": view.core, "active": view.active}.get(item.kind)
    return book.get(item.item_id) if book is not None and book.knows(item.item_id) else None


def _packing_trace(row: Packing | None, asked: str | None, router: Router | None) -> Sequence[dict[str, Any]]:
    if row is None:
        return []
    if asked == "auto" and router is None:
        row = replace(row, reason="no router is configured")
    plain = {k: list(v) if isinstance(v, tuple) else v for k, v in asdict(row).items()}
    return [{"kind": "packing", **plain}]
