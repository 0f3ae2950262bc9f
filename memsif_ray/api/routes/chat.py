"""OpenAI's chat API, with memory in between. Served when there is a chat model to stand behind it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any

from fastapi import Body, Depends, Request
from fastapi.responses import JSONResponse, Response

from memsif_ray.api.chat import VENDOR_FIELD, ChatBody, ChatUpstream, Turn
from memsif_ray.api.dependencies import BackendOf, CallerOf, IdempotencyKey, MetricsOf, SettingsOf, router
from memsif_ray.api.streaming import ChatStream, Chunks
from memsif_ray.errors import ServiceError
from memsif_ray.service.models import Usage

ROUTER = router("Chat")

_MESSAGES = [{"role": "user", "content": "Where do I live?"}]
_CHAT = {
    "scope in metadata": {
        "value": {"model": "qwen3-8b", "messages": _MESSAGES, "metadata": {"conversation_id": "amy"}}
    },
    "scope in user": {
        "summary": "For clients that can only set `user`",
        "value": {"model": "qwen3-8b", "messages": _MESSAGES, "user": "amy", "stream": True},
    },
    "all options": {
        "summary": "`extra_body` of OpenAI's client",
        "value": {
            "model": "qwen3-8b",
            "messages": _MESSAGES,
            "memory": {"conversation_id": "amy", "remember": False, "max_tokens": 500},
        },
    },
}
_EVENT = {
    "type": "object",
    "properties": {"data": {"type": "string", "description": "A `chat.completion.chunk`; at last `[DONE]`"}},
}
_REPLIES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": f"OpenAI's completion, with `{VENDOR_FIELD}` beside it; events when `stream` is set",
        "content": {
            "application/json": {"schema": {"type": "object"}},
            "text/event-stream": {"schema": _EVENT},
        },
    }
}


async def _upstream(request: Request) -> ChatUpstream:
    upstream: ChatUpstream = request.app.state.upstream
    return upstream


UpstreamOf = Annotated[ChatUpstream, Depends(_upstream)]


@ROUTER.post(
    "/v1/chat/completions",
    summary="Chat with a model that remembers",
    response_class=Response,
    responses=_REPLIES,
)
async def chat(
    body: Annotated[ChatBody, Body(openapi_examples=_CHAT)],  # type: ignore[arg-type]
    request: Request,
    backend: BackendOf,
    caller: CallerOf,
    settings: SettingsOf,
    metrics: MetricsOf,
    upstream: UpstreamOf,
    idempotency_key: IdempotencyKey = None,
) -> Response:
    """What memory knows about the user's words is put into the system message; the turn is remembered.

    Give the conversation in `metadata.conversation_id`, in `user`, or in `memory` with further options.
    The ids of what was recalled come back in the field `memsif`; a stream has it in its first chunk.
    """
    turn = Turn(backend, caller, body, body.conversation_id(), idempotency_key)
    recalled = await turn.recall(max_tokens=settings.chat_memory_tokens)
    metrics.used(recalled.usage)
    asked = body.for_model(recalled.note)
    vendor: dict[str, Any] = {"conversation_id": turn.conversation_id, "retrieved_ids": recalled.ids}
    if not body.stream:
        completion = await upstream.complete(asked)
        metrics.used(_usage(completion.get("usage")))
        vendor["operation_id"] = await turn.remember(_reply(completion))
        return JSONResponse({**completion, VENDOR_FIELD: vendor})

    async def remember(said: Chunks) -> None:
        metrics.used(_usage(said.usage))
        await turn.remember(said.text)

    chunks = Chunks(upstream.stream(asked), idle_s=settings.stream_idle_s)
    first = await anext(chunks, None)
    if first is None:
        raise ServiceError("the chat model sent nothing", "empty_reply")
    return ChatStream(first, chunks, vendor=vendor, remember=remember, work=request.app.state.work)


@ROUTER.get("/v1/models", summary="Models to chat with")
async def models(upstream: UpstreamOf) -> dict[str, Any]:
    """As the endpoint behind this one lists them."""
    return {"object": "list", "data": [dict(model) for model in await upstream.models()]}


def _reply(completion: Mapping[str, Any]) -> str:
    choices = completion.get("choices") or [{}]
    return (choices[0].get("message") or {}).get("content") or ""


def _usage(told: Mapping[str, Any] | None) -> Usage:
    told = told or {}
    return Usage(
        prompt_tokens=told.get("prompt_tokens") or 0, completion_tokens=told.get("completion_tokens") or 0
    )
