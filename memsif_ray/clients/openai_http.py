"""A chat model behind an OpenAI-compatible endpoint: vLLM, Ray Serve, the embedded engine or a hosted one."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import re
import time
from collections.abc import Mapping
from typing import Any, Literal

import openai
from openai.types.chat import ChatCompletion
from openai.types.chat.chat_completion import Choice

from memsif_ray.clients.retries import RetryPolicy, retry_after_s
from memsif_ray.config import ModelConfig
from memsif_ray.errors import ConfigError, RequestRefused, ServiceBusy, ServiceError
from memsif_ray.types import ChatReply, ChatRequest

LOGGER = logging.getLogger(__name__)

NO_KEY = "none"
"""Sent to local servers, which want no key; the client insists on one."""

STRUCTURED_OUTPUT_REFUSED = "structured_output_refused"
"""Error code when the very first schema is refused: no later row can fare better, so the run should stop."""

_BUSY_STATUSES = frozenset({408, 409, 425, 429})
_NEVER_RECOVERS = frozenset({"insufficient_quota"})
_EXCERPT = 300
_QWEN3 = re.compile(r"qwen-?3", re.I)
_ABOUT_SCHEMA = re.compile(r"response_format|json[_ ]schema|structured[_ ]output", re.I)
_ABOUT_THINKING = re.compile(r"chat_template_kwargs|enable_thinking", re.I)
_ABOUT_LOGPROBS = re.compile(r"log_?prob|log[- ]probabilit", re.I)
_CODE_OF_TEXT = (
    ("context_length_exceeded", re.compile(r"context[_ ](length|window)|prompt is too long", re.I)),
    ("content_filter", re.compile(r"content[_ ](filter|management)", re.I)),
)


class OpenAIChat:
    """Implements `ChatModel`. Bound to the event loop of its first call, as its connections are.

    What the server understands is learned once: with `structured_output="auto"` the first schema goes out
    as `response_format`, and a server that refuses the field gets the schema in the prompt from then on.
    The same holds for Qwen3's thinking switch and for log-probabilities. Such a resend is part of the same
    attempt.
    """

    def __init__(self, config: ModelConfig, *, retry: RetryPolicy | None = None) -> None:
        """Open nothing yet.

        Args:
            config: Endpoint, model, limits.
            retry: None retries within `config.deadline_s`.

        Raises:
            ConfigError: When `config` names no endpoint.
        """
        if config.base_url is None:
            raise ConfigError("a remote model needs base_url, e.g. http://host:8000/v1")
        self._model = config.model
        self._retry = retry or RetryPolicy(config.deadline_s)
        self._slots = asyncio.Semaphore(config.max_in_flight)
        # No time limit here: the retry layer's deadline is the only timer.
        self._client = openai.AsyncOpenAI(
            base_url=config.base_url,
            api_key=os.environ.get(config.api_key_env) or NO_KEY,
            max_retries=0,
            timeout=None,
        )
        self._schemas: Literal["auto", "json_schema", "prompt"] = config.structured_output
        self._schema_accepted = False
        self._thinking = config.thinking
        self._send_logprobs = True
        self._send_thinking = config.thinking or _QWEN3.search(config.model) is not None

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request; `latency_s` is that of the successful attempt, without queue and pauses.

        Raises:
            ServiceBusy: When the deadline passed; carries the last cause.
            RequestRefused: When the server will not take this request.
        """
        answered = await self._retry.run(lambda: self._attempt(request), slots=self._slots)
        completion, latency_s = answered.value
        choice = completion.choices[0] if completion.choices else None
        usage = completion.usage
        return ChatReply(
            content=choice.message.content if choice else None,
            finish_reason=(choice.finish_reason or "") if choice else "no_choice",
            model=completion.model or self._model,
            prompt_tokens=usage.prompt_tokens if usage else None,
            completion_tokens=usage.completion_tokens if usage else None,
            latency_s=latency_s,
            attempts=answered.attempts,
            mean_logprob=_mean_logprob(choice) if request.logprobs and choice else None,
        )

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.close()

    async def _attempt(self, request: ChatRequest) -> tuple[ChatCompletion, float]:
        while True:
            body = self._body(request)
            started = time.perf_counter()
            try:
                completion = await self._client.chat.completions.create(**body)
            except openai.APIStatusError as exc:
                if not self._learned_from(exc, body):
                    raise self._refusal(exc, body) from exc
                continue
            except openai.APIError as exc:
                raise service_error(exc) from exc
            except json.JSONDecodeError as exc:
                raise ServiceBusy("the server sent broken JSON", "broken_reply") from exc
            if not isinstance(completion, ChatCompletion):
                raise RequestRefused("the server's reply is no chat completion: check base_url", "not_openai")
            if "response_format" in body:
                self._schema_accepted = True
            return completion, time.perf_counter() - started

    def _body(self, request: ChatRequest) -> dict[str, Any]:
        system = request.system
        body: dict[str, Any] = {
            "model": self._model,
            "max_tokens": request.max_tokens,
            "temperature": request.temperature,
            "seed": request.seed,
        }
        if request.schema is not None:
            if self._schemas == "prompt":
                system = _with_schema(system, request.schema)
            else:
                wanted = {"name": request.stage, "schema": request.schema, "strict": True}
                body["response_format"] = {"type": "json_schema", "json_schema": wanted}
        if self._send_thinking:
            body["extra_body"] = {"chat_template_kwargs": {"enable_thinking": self._thinking}}
        if request.logprobs and self._send_logprobs:
            body["logprobs"] = True
        user = {"role": "user", "content": request.user}
        body["messages"] = [{"role": "system", "content": system}, user] if system else [user]
        return body

    def _learned_from(self, exc: openai.APIStatusError, body: dict[str, Any]) -> bool:
        """True when the refusal is about a field that we now leave out, so that resending makes sense."""
        if exc.status_code not in (400, 422):
            return False
        if "extra_body" in body and _ABOUT_THINKING.search(exc.message):
            if self._send_thinking:
                LOGGER.warning("%s knows no thinking switch; leaving it out", self._model)
            self._send_thinking = False
            return True
        if "logprobs" in body and _ABOUT_LOGPROBS.search(exc.message):
            if self._send_logprobs:
                LOGGER.warning("%s gives no log-probabilities; no longer asking for them", self._model)
            self._send_logprobs = False
            return True
        return self._learned_about_schemas(exc, body)

    def _learned_about_schemas(self, exc: openai.APIStatusError, body: dict[str, Any]) -> bool:
        if "response_format" in body and self._schemas != "json_schema" and _about_schema(exc):
            # Once a schema was accepted, a refusal is about this schema: one failed row, not a fallback.
            if self._schema_accepted:
                return False
            if self._schemas == "auto":
                LOGGER.warning("%s refuses response_format; schemas go into the prompt", self._model)
            self._schemas = "prompt"
            return True
        return False

    def _refusal(self, exc: openai.APIStatusError, body: dict[str, Any]) -> ServiceError:
        error = service_error(exc)
        hopeless = "response_format" in body and not self._schema_accepted and _about_schema(exc)
        if not hopeless:
            return error
        remedy = "set structured_output to auto or prompt"
        return RequestRefused(
            f"the server refuses the JSON schema ({remedy}): {error.message}", STRUCTURED_OUTPUT_REFUSED
        )


def _mean_logprob(choice: Choice) -> float | None:
    tokens = choice.logprobs.content if choice.logprobs else None
    return sum(token.logprob for token in tokens) / len(tokens) if tokens else None


def service_error(exc: openai.APIError) -> ServiceError:
    """The project's plain error for one of the client, which cannot be pickled."""
    said = exc.body.get("message") if isinstance(exc.body, dict) else None
    message = str(said or exc.message)
    if isinstance(exc, openai.APITimeoutError):
        return ServiceBusy(message, "timeout")
    if not isinstance(exc, openai.APIStatusError):
        cause = f" ({type(exc.__cause__).__name__}: {exc.__cause__})" if exc.__cause__ else ""
        return ServiceBusy(f"{message}{cause}", "connection")
    return _failure(exc.status_code, message, exc.code, exc.response.headers)


def refusal(status: int, body: str, headers: Mapping[str, str]) -> ServiceError:
    """The error behind a reply that is none of 2xx; `body` may be in OpenAI's shape, or anything."""
    try:
        error = json.loads(body)["error"]
        message, code = str(error["message"]), str(error.get("code") or "")
    except (ValueError, KeyError, TypeError, AttributeError):
        message, code = body[:_EXCERPT], ""
    return _failure(status, message, code, headers)


def _failure(status: int, message: str, code: str | None, headers: Mapping[str, str]) -> ServiceError:
    """`code` is the server's own where it gives a word, else read from the message, else `http_<status>`."""
    if not code or code.isdigit():
        code = next((c for c, pattern in _CODE_OF_TEXT if pattern.search(message)), f"http_{status}")
    busy = status >= 500 or status in _BUSY_STATUSES
    if busy and code not in _NEVER_RECOVERS:
        return ServiceBusy(message, code, retry_after_s(headers.get("retry-after")))
    return RequestRefused(message, code)


def _about_schema(exc: openai.APIStatusError) -> bool:
    return exc.status_code in (400, 422) and _ABOUT_SCHEMA.search(exc.message) is not None


def _with_schema(system: str, schema: dict[str, Any]) -> str:
    wish = "Reply with one JSON object that satisfies this JSON schema, and with nothing else:"
    return f"{system}\n\n{wish}\n{json.dumps(schema, ensure_ascii=False)}".lstrip()
