"""The chat model behind `/v1/chat/completions`, as it is: fields that we do not know go through untouched."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import httpx

from memsif_ray.clients.openai_http import NO_KEY
from memsif_ray.config import ModelConfig
from memsif_ray.errors import ConfigError, RequestRefused, ServiceBusy, ServiceError

_CONNECT_S = 10.0
_BUSY = frozenset({408, 425, 429})
_EXCERPT = 500


class HttpUpstream:
    """Implements the API's `ChatUpstream` over an OpenAI-compatible endpoint.

    Nothing is sent twice: whoever chats decides about that.
    """

    def __init__(self, config: ModelConfig, *, transport: httpx.AsyncBaseTransport | None = None) -> None:
        """Open nothing yet.

        Args:
            config: Names the endpoint.
            transport: Another way there than the network, e.g. to an app in this process.

        Raises:
            ConfigError: When `config` names no endpoint.
        """
        if config.base_url is None:
            raise ConfigError("a chat model needs base_url, e.g. http://host:8000/v1")
        key = os.environ.get(config.api_key_env) or NO_KEY
        self._client = httpx.AsyncClient(
            base_url=config.base_url,
            headers={"Authorization": f"Bearer {key}"},
            timeout=httpx.Timeout(config.deadline_s, connect=_CONNECT_S),
            transport=transport,
        )

    async def models(self) -> Sequence[Mapping[str, Any]]:
        """What the endpoint serves."""
        reply = await self._sent("GET", "models")
        return list(_json(reply).get("data", ()))

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """One completion."""
        return _json(await self._sent("POST", "chat/completions", body))

    async def stream(self, body: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """A completion in chunks; leaving the loop early ends the model's work."""
        try:
            async with self._client.stream("POST", "chat/completions", json=dict(body)) as reply:
                if reply.is_error:
                    await reply.aread()
                    raise _failure(reply)
                async for line in reply.aiter_lines():
                    data = line.removeprefix("data:").strip()
                    if line.startswith("data:") and data != "[DONE]":
                        yield _chunk(data)
        except httpx.HTTPError as exc:
            raise _unreachable(exc) from exc

    async def aclose(self) -> None:
        """Close the connections."""
        await self._client.aclose()

    async def _sent(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> httpx.Response:
        try:
            reply = await self._client.request(method, path, json=body and dict(body))
        except httpx.HTTPError as exc:
            raise _unreachable(exc) from exc
        if reply.is_error:
            raise _failure(reply)
        return reply


def _unreachable(exc: httpx.HTTPError) -> ServiceBusy:
    code = "timeout" if isinstance(exc, httpx.TimeoutException) else "model_unreachable"
    return ServiceBusy(f"the chat model does not answer: {type(exc).__name__}", code)


def _failure(reply: httpx.Response) -> ServiceError:
    message, code = _said(reply)
    if reply.status_code in _BUSY or reply.status_code >= 500:
        pause = reply.headers.get("retry-after", "")
        return ServiceBusy(message, code, float(pause) if pause.isdigit() else None)
    return RequestRefused(message, code)


def _said(reply: httpx.Response) -> tuple[str, str]:
    """Message and code of an error in OpenAI's shape, or the beginning of whatever came."""
    code = f"http_{reply.status_code}"
    try:
        error = reply.json()["error"]
        return str(error["message"]), str(error.get("code") or code)
    except (ValueError, KeyError, TypeError, AttributeError):
        return reply.text[:_EXCERPT] or reply.reason_phrase, code


def _json(reply: httpx.Response) -> dict[str, Any]:
    return _chunk(reply.text)


def _chunk(data: str) -> dict[str, Any]:
    try:
        found = json.loads(data)
    except ValueError as exc:
        raise ServiceError("the chat model sent no JSON", "not_json") from exc
    if not isinstance(found, dict):
        raise ServiceError("the chat model sent no object", "not_json")
    return found
