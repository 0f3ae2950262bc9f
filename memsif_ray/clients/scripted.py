"""Models that need no weights: for dry runs, tests and measurements of everything that is not the model."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.text import is_blank, words
from memsif_ray.types import ChatReply, ChatRequest, Matrix, Vector

Script: TypeAlias = Callable[[ChatRequest], str | None | Exception]
"""What to say: text, None for a reply without content, or an exception to raise."""

_ID_FIELD = re.compile(r"(^|_)(ids?|evidence|sources?)$")
_MESSAGE_ID = re.compile(r"\bD\d+:\d+\b")
_COUNTER = EstimatingCounter()


class ScriptedChat:
    """Implements `ChatModel` with a function; keeps every request in `requests`, in calling order."""

    def __init__(self, script: Script | None = None, *, model: str = "scripted") -> None:
        """Speak by `script`; None is [`reasonable`][memsif_ray.clients.scripted.reasonable]."""
        self.requests: list[ChatRequest] = []
        self._script = script or reasonable
        self._model = model

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer by the script; token numbers are estimates."""
        self.requests.append(request)
        said = self._script(request)
        if isinstance(said, Exception):
            raise said
        return ChatReply(
            content=said,
            finish_reason="length" if said is None else "stop",
            model=self._model,
            prompt_tokens=_COUNTER.count(request.system) + _COUNTER.count(request.user),
            completion_tokens=_COUNTER.count(said or ""),
        )


def reasonable(request: ChatRequest) -> str:
    """A deterministic reply of the right shape for any stage.

    Without a schema it is the line of the user message that shares most words with the message's last line,
    where a prompt puts its question. With one it is the schema's plainest valid instance: choices are drawn
    by a hash of the request, texts are lines of the user message, ids are message ids found there.
    """
    if request.schema is None:
        return _closest_line(request.user)
    seed = hashlib.sha256(
        f"{request.stage}\0{request.user}\0{request.attempt}".encode("utf-8", "replace")
    ).digest()
    return json.dumps(
        _Instance(request, int.from_bytes(seed[:8], "big")).of(request.schema), ensure_ascii=False
    )


def _closest_line(text: str) -> str:
    *lines, question = [line for line in text.splitlines() if not is_blank(line)] or [""]
    asked = set(words(question))
    return max(lines, key=lambda line: len(asked & set(words(line))), default=question)


class _Instance:
    """Builds one instance of a JSON schema: required properties only, shortest lists, no recursion limit."""

    def __init__(self, request: ChatRequest, seed: int) -> None:
        self._root = request.schema or {}
        self._seed = seed
        self._lines = [line.strip() for line in request.user.splitlines() if not is_blank(line)] or [
            "nothing"
        ]
        self._ids = _MESSAGE_ID.findall(request.user)

    def of(self, schema: dict[str, Any], name: str = "") -> Any:
        if "$ref" in schema:
            return self.of(self._resolve(schema["$ref"]), name)
        if "const" in schema:
            return schema["const"]
        if "enum" in schema:
            return self._pick(schema["enum"], name)
        for union in ("anyOf", "oneOf"):
            if union in schema:
                return self.of(schema[union][0], name)
        kind = schema.get("type", "object")
        return getattr(self, f"_{kind[0] if isinstance(kind, list) else kind}")(schema, name)

    def _object(self, schema: dict[str, Any], name: str) -> dict[str, Any]:
        properties = schema.get("properties", {})
        return {key: self.of(properties.get(key, {}), key) for key in schema.get("required", properties)}

    def _array(self, schema: dict[str, Any], name: str) -> list[Any]:
        size = min(max(1, schema.get("minItems", 1)), schema.get("maxItems", 1_000_000))
        return [self.of(schema.get("items", {"type": "string"}), name) for _ in range(size)]

    def _string(self, schema: dict[str, Any], name: str) -> str:
        source = self._ids if self._ids and _ID_FIELD.search(name) else self._lines
        text: str = self._pick(source, name)
        return text[: schema.get("maxLength", len(text))].ljust(schema.get("minLength", 0), ".")

    def _integer(self, schema: dict[str, Any], name: str) -> int:
        low = schema.get("minimum", 0)
        return int(low + self._draw(name) % (schema.get("maximum", low) - low + 1))

    def _number(self, schema: dict[str, Any], name: str) -> float:
        return float(schema.get("minimum", 0))

    def _boolean(self, schema: dict[str, Any], name: str) -> bool:
        return self._draw(name) % 2 == 0

    def _null(self, schema: dict[str, Any], name: str) -> None:
        return None

    def _resolve(self, reference: str) -> dict[str, Any]:
        found: Any = self._root
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        return dict(found)

    def _pick(self, options: Sequence[Any], name: str) -> Any:
        return options[self._draw(name) % len(options)]

    def _draw(self, name: str) -> int:
        return int.from_bytes(hashlib.sha256(f"{self._seed}\0{name}".encode()).digest()[:8], "big")


class HashEmbedder:
    """Implements `Embedder` with signed hashed words: texts that share words have similar vectors.

    The first component is a constant, so that no text, not even one of symbols only, has a zero vector.
    """

    def __init__(self, dim: int = 64) -> None:
        """Make vectors of `dim` components, at least 2."""
        self._dim = dim

    @property
    def model_id(self) -> str:
        """Name with its size: `hash-64`."""
        return f"hash-{self._dim}"

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors, shape (len(texts), dim).

        Raises:
            ValueError: On a blank text.
        """
        if not texts:
            return np.zeros((0, self._dim), np.float32)
        return np.stack([self._vector(text) for text in texts])

    def _vector(self, text: str) -> Vector:
        if is_blank(text):
            raise ValueError("a blank text has no vector")
        vector = np.zeros(self._dim, np.float32)
        vector[0] = 0.1
        for word in words(text):
            number = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
            vector[1 + (number >> 1) % (self._dim - 1)] += 1.0 if number & 1 else -1.0
        return vector / np.linalg.norm(vector)
