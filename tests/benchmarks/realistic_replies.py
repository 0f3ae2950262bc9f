"""Replies as long as a model's, to any prompt of any method, without a model.

They are well formed and deterministic: lines of what was shown, cut to a usual length, in lists of a usual
size. So they say what prompts and replies cost, not how a model decides; a yes or no is drawn by a hash.
"""

from __future__ import annotations

import hashlib
import json
import re
from typing import Any

from memsif_ray.types import ChatRequest

PER_FACT = 3
"""Lines shown per fact written: 2.9 of LoCoMo's turns for one of its own observations."""
SHORT, SENTENCE, PASSAGE = 30, 100, 400
"""Characters of a name or an answer, of a fact, and of a text that the prompt does not bound."""

_LINE = re.compile(
    r"^(?:\[(?P<number>\d+)\] )?(?:\[[^\]]*\] )?(?:(?P<speaker>[^:<]{1,40}): )?(?P<text>[^<].*)$", re.M
)
_BLOCK = re.compile(r"<(?P<tag>\w+)[^>]*>\n(?P<inside>.*?)\n</(?P=tag)>", re.S)
_NOTHING: dict[str, str | None] = {"number": None, "speaker": None, "text": "nothing"}
_TYPE = re.compile(r"^- (\w+):", re.M)


def realistic(request: ChatRequest) -> str:
    """The reply to one request."""
    reply = _Reply(request)
    if request.schema is None:
        return reply.text(SHORT if request.stage in ("answer", "probe") else PASSAGE)
    return json.dumps(reply.of(request.schema), ensure_ascii=False)


def _shown(user: str) -> list[dict[str, str | None]]:
    """The lines that are to be worked on: of the last block that has several, new or numbered ones if any."""
    new = [line for line in _lines(user) if line["speaker"] == "NEW"]
    blocks = [_lines(match["inside"]) for match in _BLOCK.finditer(user)]
    lines = next((block for block in reversed(blocks) if len(block) > 1), _lines(user))
    return new or [line for line in lines if line["number"]] or lines or [_NOTHING]


def _lines(text: str) -> list[dict[str, str | None]]:
    return [match.groupdict() for match in _LINE.finditer(text)]


class _Reply:
    def __init__(self, request: ChatRequest) -> None:
        self._seed = f"{request.stage}\0{request.user}\0{request.attempt}"
        self._types = _TYPE.findall(request.system)
        self._about = _shown(request.user)
        self._new = self._about[0]["speaker"] == "NEW"  # facts, each of which wants an action
        self._at = self._draw("line") % len(self._about)

    def of(self, schema: dict[str, Any], name: str = "") -> Any:
        if "enum" in schema:  # the first is the usual one: half of all choices
            draw = self._draw(f"{name}{self._at}")
            return schema["enum"][0 if draw % 2 else draw // 2 % len(schema["enum"])]
        match schema["type"]:
            case "object":
                return {key: self.of(part, key) for key, part in schema["properties"].items()}
            case "array":
                return [self._next(schema["items"], name) for _ in range(self._size(schema, name))]
            case "string":
                return self._string(schema, name)
            case "integer":
                return int(self._about[self._at]["number"] or 0)
        return self._draw(name) % 2 == 0

    def text(self, length: int) -> str:
        found = ""
        for offset in range(len(self._about)):
            found += " " + self._about[(self._at + offset) % len(self._about)]["text"]
            if len(found) > length:
                break
        return found.strip()[:length]

    def _next(self, schema: dict[str, Any], name: str) -> Any:
        """About the following line, so that no two items of a list are the same."""
        self._at = (self._at + (1 if self._new else PER_FACT)) % len(self._about)
        return self.of(schema, name)

    def _size(self, schema: dict[str, Any], name: str) -> int:
        usual = len(self._about) if self._new else -(-len(self._about) // PER_FACT)
        if name == "targets":  # what a new fact replaces
            usual = 0
        elif name in ("messages", "notes"):
            usual = 1
        elif name in ("needs", "queries", "requests", "pages"):  # what is looked for next
            usual = 2
        return max(schema.get("minItems", 0), min(usual, schema["maxItems"], len(self._about)))

    def _string(self, schema: dict[str, Any], name: str) -> str:
        most = schema.get("maxLength", SENTENCE)
        if name == "type" and self._types:
            return str(self._types[self._draw(name) % len(self._types)])
        if name in ("subject", "speaker", "persons"):
            return (self._about[self._at]["speaker"] or "someone")[:most]
        if most <= 80:
            return self.text(min(SHORT, most))
        return self.text(SENTENCE if most <= 400 else most // 2)

    def _draw(self, name: str) -> int:
        digest = hashlib.sha256(f"{self._seed}\0{name}".encode("utf-8", "replace")).digest()
        return int.from_bytes(digest[:8], "big")
