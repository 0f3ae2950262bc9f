"""JSON schemas as the engine can afford them: those that `grammars` does not know."""

from __future__ import annotations

from typing import Any

LONGEST = 256
"""Characters up to which a bound on a string is free.

Inside a string with a higher `maxLength` the grammar engine of OpenVINO GenAI 2026.4 (xgrammar) takes some 20
times as long per token (700 ms instead of 32), and every other request in the batch waits for it.
"""


def affordable(schema: Any) -> Any:
    """`schema` without bounds on strings above `LONGEST`; the limit on tokens bounds such replies anyway."""
    if isinstance(schema, list):
        return [affordable(part) for part in schema]
    if not isinstance(schema, dict):
        return schema
    return {key: affordable(value) for key, value in schema.items() if not _too_long(key, value)}


def _too_long(key: str, value: Any) -> bool:
    # A property may be called "maxLength" too, but what it maps to is no number.
    return key == "maxLength" and isinstance(value, int | float) and value > LONGEST
