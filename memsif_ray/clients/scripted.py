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

_LABELLED = re.compile(r"(?:\[(?P<number>\d+)\] )?(?:(?P<speaker>[^:]{1,40}): )?(?P<text>.+)")
_QUESTION = re.compile(r"<question>(.*?)</question>", re.S)
_TYPE = re.compile(r"^- (\w+):", re.M)
_COUNTER = EstimatingCounter()


class ScriptedChat:
    """Implements `ChatModel` with a function; keeps every request in `requests`, in calling order."""

    def __init__(
        self,
        script: Script | None = None,
        *,
        model: str = "scripted",
        logprob: Callable[[ChatRequest], float | None] | None = None,
    ) -> None:
        """Speak by `script`; None is [`reasonable`][memsif_ray.clients.scripted.reasonable].

        `logprob` gives the mean log-probability of replies for which it is asked; None knows none.
        """
        self.requests: list[ChatRequest] = []
        self._script = script or reasonable
        self._model = model
        self._logprob = logprob

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
            mean_logprob=self._logprob(request) if self._logprob and request.logprobs else None,
        )


def reasonable(request: ChatRequest) -> str:
    """A deterministic reply of the right shape for any stage.

    Without a schema it is the line of the user message that shares most words with the question there. With
    one it is the schema's plainest valid instance about one line of the user message: its text, its speaker
    as subject, its number as source. The line and all choices are drawn by a hash of the request.
    """
    lines = [
        line for line in map(str.strip, request.user.splitlines()) if not (is_blank(line) or line[0] == "<")
    ]
    if request.schema is None:
        asked = _QUESTION.search(request.user)
        return _closest(lines or ["nothing"], asked[1] if asked else lines[-1] if lines else "")
    return json.dumps(_Instance(request, lines or ["nothing"]).of(request.schema), ensure_ascii=False)


def _closest(lines: list[str], question: str) -> str:
    asked = set(words(question))
    return max(
        (line for line in lines if line != question),
        key=lambda line: len(asked & set(words(line))),
        default=question,
    )


class _Instance:
    """Builds one instance of a JSON schema: required properties only, shortest lists, first of a union."""

    def __init__(self, request: ChatRequest, lines: list[str]) -> None:
        self._root = request.schema or {}
        self._seed = f"{request.stage}\0{request.user}\0{request.attempt}"
        self._types = _TYPE.findall(request.system)
        about = _LABELLED.fullmatch(self._pick(lines, "line"))
        self._about = about.groupdict() if about else {"number": None, "speaker": None, "text": "nothing"}

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
        return self._plain(kind[0] if isinstance(kind, list) else kind, schema, name)

    def _plain(self, kind: str, schema: dict[str, Any], name: str) -> Any:
        match kind:
            case "object":
                properties = schema.get("properties", {})
                return {key: self.of(properties.get(key, {}), key) for key in schema.get("required", ())}
            case "array":
                size = max(schema.get("minItems", 0), min(1, schema.get("maxItems", 1)))
                return [self.of(schema.get("items", {}), name) for _ in range(size)]
            case "string":
                return self._text(name)[: schema.get("maxLength")].ljust(schema.get("minLength", 0), ".")
            case "integer" | "number":
                number = max(int(self._about["number"] or 0), schema.get("minimum", 0))
                return min(number, schema.get("maximum", number))
            case "boolean":
                return self._draw(name) % 2 == 0
        return None

    def _text(self, name: str) -> str:
        if name == "type" and self._types:
            return str(self._pick(self._types, name))
        return self._about["speaker" if name == "subject" else "text"] or "someone"

    def _resolve(self, reference: str) -> dict[str, Any]:
        found: Any = self._root
        for part in reference.removeprefix("#/").split("/"):
            found = found[part]
        return dict(found)

    def _pick(self, options: Sequence[Any], name: str) -> Any:
        return options[self._draw(name) % len(options)]

    def _draw(self, name: str) -> int:
        digest = hashlib.sha256(f"{self._seed}\0{name}".encode("utf-8", "replace")).digest()
        return int.from_bytes(digest[:8], "big")


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
