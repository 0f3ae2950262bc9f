"""Counts model work, and keeps nothing else of it: no text survives a call here."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace

from memsif_ray.errors import RequestRefused
from memsif_ray.memory.tools import Tools
from memsif_ray.ports import ChatModel, Embedder, TokenCounter
from memsif_ray.service.models import Usage
from memsif_ray.types import ChatReply, ChatRequest, Matrix


@dataclass(slots=True)
class Counter:
    """Model work done so far in one piece of work."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_calls: int = 0
    embedded_texts: int = 0

    def add(self, other: Counter) -> None:
        """Add what another counted."""
        self.prompt_tokens += other.prompt_tokens
        self.completion_tokens += other.completion_tokens
        self.model_calls += other.model_calls
        self.embedded_texts += other.embedded_texts

    @property
    def usage(self) -> Usage:
        """As the API has it."""
        return Usage(
            prompt_tokens=self.prompt_tokens,
            completion_tokens=self.completion_tokens,
            model_calls=self.model_calls,
            embedded_texts=self.embedded_texts,
        )


_CURRENT: ContextVar[Counter | None] = ContextVar("_CURRENT", default=None)


@contextmanager
def counted() -> Iterator[Counter]:
    """Counts the calls made inside, also by tasks that are started there; an outer one counts them too."""
    counter, outer = Counter(), _CURRENT.get()
    _CURRENT.set(counter)
    try:
        yield counter
    finally:
        _CURRENT.set(outer)
        if outer is not None:
            outer.add(counter)


def counting(tools: Tools) -> Tools:
    """The same tools, counted."""
    return replace(
        tools, chat=CountingChat(tools.chat, tools.tokens), embedder=CountingEmbedder(tools.embedder)
    )


def undeterred(tools: Tools) -> Tools:
    """Tools for building memory: a request that the model refuses is a reply without content.

    Then memory falls back to its rules for that one decision and records it. One message that a content
    filter dislikes must not keep a conversation from remembering all that comes after it.
    """
    return replace(tools, chat=RefusalsAsReplies(tools.chat))


class CountingChat:
    """A `ChatModel` whose calls are counted."""

    def __init__(self, model: ChatModel, tokens: TokenCounter) -> None:
        """Wrap `model`; `tokens` counts where it does not."""
        self._model, self._tokens = model, tokens

    async def complete(self, request: ChatRequest) -> ChatReply:
        """As the model does."""
        reply = await self._model.complete(request)
        counter = _CURRENT.get()
        if counter is not None:
            counter.model_calls += 1
            asked, said = reply.prompt_tokens, reply.completion_tokens
            counter.prompt_tokens += (
                self._tokens.count(f"{request.system}{request.user}") if asked is None else asked
            )
            counter.completion_tokens += self._tokens.count(reply.content or "") if said is None else said
        return reply


class CountingEmbedder:
    """An `Embedder` whose texts are counted."""

    def __init__(self, embedder: Embedder) -> None:
        """Wrap `embedder`."""
        self._embedder = embedder

    @property
    def model_id(self) -> str:
        """Of the wrapped embedder."""
        return self._embedder.model_id

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """As the embedder does."""
        vectors = await self._embedder.embed(texts)
        counter = _CURRENT.get()
        if counter is not None:
            counter.embedded_texts += len(texts)
        return vectors


class RefusalsAsReplies:
    """A `ChatModel` that answers nothing where the server refuses to answer."""

    def __init__(self, model: ChatModel) -> None:
        """Wrap `model`."""
        self._model = model

    async def complete(self, request: ChatRequest) -> ChatReply:
        """As the model does, but for refusals."""
        try:
            return await self._model.complete(request)
        except RequestRefused as exc:
            return ChatReply(content=None, finish_reason=f"refused: {exc.code}", model="")
