"""Search and answer."""

from __future__ import annotations

from typing import Annotated

from fastapi import Body

from memsif_ray.api.dependencies import BackendOf, CallerOf, MetricsOf, router
from memsif_ray.service.models import AnswerRequest, AnswerResult, SearchRequest, SearchResult

ROUTER = router("Asking")

_SEARCH = {
    "best five": {"value": {"conversation_id": "amy", "query": "Where does Amy live?", "top_k": 5}},
    "within a budget": {
        "summary": "What fits in 500 tokens, merged if need be, with its sources",
        "value": {
            "conversation_id": "amy",
            "query": "Where does Amy live?",
            "max_tokens": 500,
            "consolidation": "auto",
            "include": ["provenance"],
        },
    },
    "confined by metadata": {
        "summary": "Only what rests on messages that were given this metadata",
        "value": {"conversation_id": "amy", "query": "Where does Amy live?", "filters": {"app": "diary"}},
    },
    "as it was": {
        "summary": "What memory believed in June about May",
        "value": {
            "conversation_id": "amy",
            "query": "Where does Amy live?",
            "as_of": "2024-06-01T00:00:00",
            "valid_at": "2024-05-01T00:00:00",
        },
    },
}
_ANSWER = {
    "a question": {"value": {"conversation_id": "amy", "question": "Where does Amy live?"}},
    "leave no trace": {
        "summary": "The question does not count as demand for an ActiveFact",
        "value": {"conversation_id": "amy", "question": "Where does Amy live?", "learn": False},
    },
}


@ROUTER.post("/v1/search", summary="What memory would show")
async def search(
    body: Annotated[SearchRequest, Body(openapi_examples=_SEARCH)],  # type: ignore[arg-type]
    backend: BackendOf,
    caller: CallerOf,
    metrics: MetricsOf,
) -> SearchResult:
    """Best first: at most `top_k`, or as many as `max_tokens` hold. Changes nothing."""
    found = await backend.search(caller, body)
    metrics.used(found.usage)
    return found


@ROUTER.post("/v1/answer", summary="Answer from memory")
async def answer(
    body: Annotated[AnswerRequest, Body(openapi_examples=_ANSWER)],  # type: ignore[arg-type]
    backend: BackendOf,
    caller: CallerOf,
    metrics: MetricsOf,
) -> AnswerResult:
    """The answer with its evidence, whether facts sufficed, and what the question brought about."""
    answered = await backend.answer(caller, body)
    metrics.used(answered.usage)
    return answered
