"""Model and embedder that write every call into a ledger, and replay what is already there."""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from typing import Any

from memsif_ray.clients.ledger import Call, Ledger
from memsif_ray.clients.stopwatch import Stopwatch
from memsif_ray.errors import ReplyInvalid, ServiceError
from memsif_ray.ports import ChatModel, Embedder, TokenCounter
from memsif_ray.prompts.replies import parse_reply
from memsif_ray.types import CallScope, ChatReply, ChatRequest, Matrix

EMBED_STAGE = "embed"
SOME_QUESTION = "*"
"""Stands in an embedding's row for a question's id: an embedder is told texts, not whose they are."""


class MeteredChat:
    """A `ChatModel` whose calls are in the ledger: replayed when already there, else made and written."""

    def __init__(
        self, model: ChatModel, ledger: Ledger, *, model_name: str, stopwatch: Stopwatch | None = None
    ) -> None:
        """Wrap a model.

        Args:
            model: Who is asked when the ledger has no answer.
            ledger: Of the unit of work.
            model_name: Part of each call's key, so changing models replays nothing.
            stopwatch: Told what replayed calls took.
        """
        self._model = model
        self._ledger = ledger
        self._model_name = model_name
        self._stopwatch = stopwatch or Stopwatch()

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer from the ledger or from the model.

        Raises:
            ServiceError: As the model does; the failure is a row too, and is tried again on a later start.
        """
        key = call_key(request, self._model_name)
        occurrence = self._ledger.next_occurrence(key)
        known = self._ledger.finished(key, occurrence)
        if known is not None:
            self._stopwatch.spare(known.latency_s)
            return _reply(known)
        about = _about(request, key, occurrence)
        started = time.perf_counter()
        try:
            reply = await self._model.complete(request)
        except ServiceError as exc:
            latency_s = time.perf_counter() - started
            self._ledger.append(Call(model=self._model_name, latency_s=latency_s, **_failure(exc), **about))
            raise
        self._ledger.append(Call(outcome=_outcome(reply, request), **asdict(reply), **about))
        return reply


class MeteredEmbedder:
    """An `Embedder` whose calls are rows of stage `embed`, for the cost report.

    They are never replayed: that is the task of the embedding cache, which sits below. So each method is
    charged for all texts that it wants embedded, whichever method happened to fill the cache; and tokens are
    counted here, for a server's usage would tell of nothing but the texts that no method had sent before.
    When a unit is done again, the cache answers at once, and a row keeps the seconds that it had.
    """

    def __init__(
        self,
        embedder: Embedder,
        ledger: Ledger,
        *,
        scope: CallScope,
        tokens: TokenCounter,
        stopwatch: Stopwatch | None = None,
    ) -> None:
        """Wrap an embedder.

        Args:
            embedder: Who embeds, by itself or from a cache.
            ledger: Of the unit of work.
            scope: On which every call is booked; of `SOME_QUESTION` while questions are asked.
            tokens: Counts the texts.
            stopwatch: Told what calls took that now come from the cache.
        """
        self._embedder = embedder
        self._ledger = ledger
        self._scope = scope
        self._tokens = tokens
        self._stopwatch = stopwatch or Stopwatch()
        self._booking = True

    @contextmanager
    def unbooked(self) -> Iterator[None]:
        """What is embedded meanwhile leaves no row: it makes anew what was booked when memory was built."""
        self._booking = False
        try:
            yield
        finally:
            self._booking = True

    @property
    def model_id(self) -> str:
        """Name of the wrapped embedder."""
        return self._embedder.model_id

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Embed, then write the row.

        Raises:
            ServiceError: As the embedder does; the failure is a row too.
        """
        if not self._booking:
            return await self._embedder.embed(texts)
        key = _digest([EMBED_STAGE, self.model_id, list(texts)])
        occurrence = self._ledger.next_occurrence(key)
        about: dict[str, Any] = {
            "call_key": key,
            "occurrence": occurrence,
            "stage": EMBED_STAGE,
            "model": self.model_id,
            "texts": len(texts),
            **asdict(self._scope),
        }
        started = time.perf_counter()
        try:
            vectors = await self._embedder.embed(texts)
        except ServiceError as exc:
            self._ledger.append(Call(latency_s=time.perf_counter() - started, **_failure(exc), **about))
            raise
        now_s = time.perf_counter() - started
        known = self._ledger.finished(key, occurrence)
        latency_s = max(now_s, known.latency_s) if known else now_s
        self._stopwatch.spare(latency_s - now_s)
        counted = known.prompt_tokens if known else None
        if counted is None:  # in a thread: a served counter asks its endpoint
            counted = await asyncio.to_thread(lambda: sum(map(self._tokens.count, texts)))
        self._ledger.append(Call(latency_s=latency_s, prompt_tokens=counted, **about))
        return vectors


def call_key(request: ChatRequest, model_name: str) -> str:
    """SHA-256 of all that decides a reply, plus the question and run it is for.

    The question is part of it so that equal prompts of two questions, asked at the same time, keep their
    own replies whichever comes first.
    """
    return _digest(
        [
            model_name,
            request.stage,
            request.system,
            request.user,
            request.schema,
            request.max_tokens,
            request.temperature,
            request.seed,
            request.attempt,
            request.scope.question_id,
            request.scope.run,
            # Only when asked for: the keys of all other calls stay what they were.
            *(["logprobs"] if request.logprobs else []),
        ]
    )


def _digest(parts: list[Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode("ascii")).hexdigest()


def _about(request: ChatRequest, key: str, occurrence: int) -> dict[str, Any]:
    return {
        "call_key": key,
        "occurrence": occurrence,
        "stage": request.stage,
        "prompt_id": request.prompt_id,
        "prompt_fingerprint": request.prompt_fingerprint,
        **asdict(request.scope),
    }


def _outcome(reply: ChatReply, request: ChatRequest) -> str:
    try:
        (request.parse or parse_reply)(reply, request.schema)
    except ReplyInvalid as exc:
        return f"invalid:{exc.reason}"
    return "ok"


def _failure(exc: ServiceError) -> dict[str, Any]:
    return {"outcome": f"error:{type(exc).__name__}", "attempts": exc.attempts, "error": str(exc)}


def _reply(row: Call) -> ChatReply:
    return ChatReply(
        content=row.content,
        finish_reason=row.finish_reason,
        model=row.model,
        prompt_tokens=row.prompt_tokens,
        completion_tokens=row.completion_tokens,
        latency_s=row.latency_s,
        attempts=row.attempts,
        mean_logprob=row.mean_logprob,
    )
