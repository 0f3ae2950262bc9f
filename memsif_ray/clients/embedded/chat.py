"""The embedded engine as a chat model, in process: for use as a library, with no server."""

from __future__ import annotations

import time

from memsif_ray.clients.embedded.engine import Engine
from memsif_ray.types import ChatReply, ChatRequest


class EmbeddedChat:
    """Implements `ChatModel` over a started engine, which its owner closes."""

    def __init__(self, engine: Engine) -> None:
        """Keep the engine."""
        self._engine = engine

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request; `latency_s` includes the wait for a place in the batch.

        Raises:
            RequestRefused: When the prompt is too long or the schema cannot be used.
            ServiceBusy: When too many requests wait, or the engine has stopped.
        """
        messages = [{"role": "system", "content": request.system}] if request.system else []
        messages.append({"role": "user", "content": request.user})
        started = time.perf_counter()
        completion = await self._engine.generate(
            messages,
            request.max_tokens,
            temperature=request.temperature,
            seed=request.seed,
            json_schema=request.schema,
        )
        return ChatReply(
            content=completion.text,
            finish_reason=completion.finish_reason,
            model=self._engine.model,
            prompt_tokens=completion.prompt_tokens,
            completion_tokens=completion.completion_tokens,
            latency_s=time.perf_counter() - started,
        )


class EmbeddedCounter:
    """Implements `TokenCounter` with the embedded model's own tokenizer."""

    exact = True

    def __init__(self, engine: Engine) -> None:
        """Keep the engine."""
        self._engine = engine

    def count(self, text: str) -> int:
        """Number of tokens in `text`; 0 for ""."""
        return self._engine.count_tokens(text)
