"""Within one piece of work, a question that was answered is not put again."""

from __future__ import annotations

from typing import Any

from memsif_ray.ports import ChatModel
from memsif_ray.types import ChatReply, ChatRequest


class SharingChat:
    """A `ChatModel` that answers equal requests with one reply.

    Equal are requests of equal text and limits; the seed counts only where the model samples. On whose behalf
    or at which stage they are made does not matter, so use it where all of that is the same question's.
    """

    def __init__(self, model: ChatModel) -> None:
        """Know nothing yet."""
        self._model = model
        self._known: dict[tuple[Any, ...], ChatReply] = {}

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer from what is known, else ask.

        Raises:
            ServiceError: As the model does; the next equal request is asked again.
        """
        key = _key(request)
        if key not in self._known:
            self._known[key] = await self._model.complete(request)
        return self._known[key]


class CountingChat:
    """A `ChatModel` that adds up what its replies cost.

    Attributes:
        calls: Replies received.
        prompt_tokens: Of all of them; None once a server gave no usage.
        completion_tokens: Likewise.
    """

    def __init__(self, model: ChatModel) -> None:
        """Start from nothing."""
        self._model = model
        self.calls = 0
        self.prompt_tokens: int | None = 0
        self.completion_tokens: int | None = 0

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Pass the request on.

        Raises:
            ServiceError: As the model does.
        """
        reply = await self._model.complete(request)
        self.calls += 1
        self.prompt_tokens = _sum(self.prompt_tokens, reply.prompt_tokens)
        self.completion_tokens = _sum(self.completion_tokens, reply.completion_tokens)
        return reply


def _key(request: ChatRequest) -> tuple[Any, ...]:
    sampled = request.seed if request.temperature > 0 else None
    return (
        request.system,
        request.user,
        request.max_tokens,
        request.temperature,
        sampled,
        repr(request.schema),
        request.attempt,
        request.logprobs,
    )


def _sum(known: int | None, more: int | None) -> int | None:
    return None if known is None or more is None else known + more
