"""Ask a model something that has a schema, with a bounded number of tries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.ports import ChatModel
from memsif_ray.prompts import load
from memsif_ray.prompts.replies import parse_reply
from memsif_ray.types import CallScope, ChatReply

ATTEMPTS = 2
"""Tries per question put to a model. Retries after transport errors are the adapter's, not counted here."""


async def ask(
    model: ChatModel,
    prompt: str,
    *,
    stage: str,
    scope: CallScope,
    max_tokens: int,
    temperature: float = 0.0,
    seed: int = 0,
    schema: dict[str, Any] | None = None,
    attempts: int = ATTEMPTS,
    parse: Callable[[ChatReply, dict[str, Any] | None], Any] = parse_reply,
    **values: Any,
) -> Any:
    """Render `prompt`, call `model`, and return the checked reply (JSON, or text without a schema).

    A retry asks again with a different seed and a slightly raised temperature: the same greedy
    request would only give the same unusable reply. `parse` reads a reply by its schema and raises
    `ReplyInvalid` when it is unusable.

    Raises:
        ReplyInvalid: When every attempt gave an unusable reply.
        ServiceError: When the endpoint failed.
    """
    template = load(prompt)
    for attempt in range(attempts):
        request = template.request(
            stage=stage,
            scope=scope,
            max_tokens=max_tokens,
            temperature=temperature if attempt == 0 else max(temperature, 0.3),
            seed=seed + attempt,
            attempt=attempt,
            schema=schema,
            parse=parse,
            **values,
        )
        reply = await model.complete(request)
        try:
            return parse(reply, request.schema)
        except ReplyInvalid:
            if attempt == attempts - 1:
                raise
    raise ValueError("attempts must be at least 1")
