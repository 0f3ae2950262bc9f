"""From a model's raw reply to checked JSON. A reply that cannot be read is never taken as an empty one.

Rules, in order:

1. No content is `no_content`; a reasoning field is never mined.
2. The whole content is tried as JSON first, so a tag inside a string is data.
3. Otherwise only what follows the last `</think>` counts; an unclosed `<think>` is `truncated`.
4. There must be exactly one JSON object or array of the wanted shape, bare, fenced or between sentences.
5. The top level must match the schema's required keys and types; items inside lists are checked by the
   stage that uses them, so that one bad item does not poison its neighbours.
"""

from __future__ import annotations

import json
import re
from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.types import ChatReply

_CLOSE_TAG = re.compile(r"</think(?:ing)?\s*>", re.I)
_OPEN_TAG = re.compile(r"<think(?:ing)?\s*>", re.I)
_DECODER = json.JSONDecoder()
_TYPES: dict[str, type | tuple[type, ...]] = {
    "object": dict,
    "array": list,
    "string": str,
    "boolean": bool,
    "integer": int,
    "number": (int, float),
}


def parse_reply(reply: ChatReply, schema: dict[str, Any] | None) -> Any:
    """The reply's JSON value, or its text without reasoning when `schema` is None.

    Raises:
        ReplyInvalid: With the reason; the caller may retry a bounded number of times.
    """
    if reply.content is None or not reply.content.strip():
        raise ReplyInvalid("no_content", reply.finish_reason)
    if schema is None:
        return _without_reasoning(reply.content, reply.finish_reason)
    try:
        value = json.loads(reply.content)
    except ValueError:
        value = _only_object(_without_reasoning(reply.content, reply.finish_reason), reply.finish_reason)
    return _shaped(value, schema)


def _without_reasoning(content: str, finish_reason: str) -> str:
    closes = list(_CLOSE_TAG.finditer(content))
    rest = content[closes[-1].end() :] if closes else content
    if _OPEN_TAG.search(rest):
        raise ReplyInvalid("truncated", content[-80:])
    if not rest.strip():
        raise ReplyInvalid("truncated" if finish_reason == "length" else "no_content", content[-80:])
    return rest.strip()


def _only_object(text: str, finish_reason: str) -> Any:
    found = list(_json_objects(text))
    if len(found) == 1:
        return found[0]
    if finish_reason == "length":  # several may be the items of a list that was cut off
        raise ReplyInvalid("truncated", text[-80:])
    raise ReplyInvalid("several_objects" if found else "not_json", text[-80:])


def _json_objects(text: str) -> list[Any]:
    """Every outermost JSON object in `text`; braces in prose that are no JSON are skipped."""
    found, at = [], text.find("{")
    while at != -1:
        try:
            value, end = _DECODER.raw_decode(text, at)
        except ValueError:
            end = at + 1
        else:
            found.append(value)
        at = text.find("{", end)
    return found


def _shaped(value: Any, schema: dict[str, Any]) -> Any:
    if schema.get("type") == "object" and not isinstance(value, dict):
        raise ReplyInvalid("wrong_shape", repr(value)[:80])
    for key in schema.get("required", ()):
        if key not in value:
            raise ReplyInvalid("wrong_shape", f"missing {key}")
        value[key] = _typed(key, value[key], schema["properties"][key])
    return value


def _typed(key: str, value: Any, rule: dict[str, Any]) -> Any:
    wanted = _TYPES.get(rule.get("type", ""), object)
    if not isinstance(value, wanted) or (isinstance(value, bool) and wanted is not bool and "type" in rule):
        raise ReplyInvalid("wrong_shape", f"{key} is {type(value).__name__}")
    if "enum" in rule and isinstance(value, str):
        return choose(value, rule["enum"])
    return value


def choose(value: Any, allowed: list[str] | tuple[str, ...]) -> str:
    """The allowed spelling of `value`, ignoring case and edge space.

    Raises:
        ReplyInvalid: When it is none of them; unknown words are never mapped to a neighbour.
    """
    if isinstance(value, str):
        for option in allowed:
            if value.strip().casefold() == option.casefold():
                return option
    raise ReplyInvalid("unknown_value", repr(value)[:80])
