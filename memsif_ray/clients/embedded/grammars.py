"""JSON schemas as grammars of the engine, without a choice of blanks.

Between two words of JSON any number of blanks may stand, and where a weak model has nothing to say it writes
them until it is cut off. OpenVINO GenAI 2026.4 has no switch against it; but it takes grammars, in xgrammar's
EBNF, and a grammar can allow exactly the blanks that `json.dumps` writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from memsif_ray.clients.embedded.schemas import LONGEST

_RULES = r"""
string ::= "\"" rest
rest ::= "\"" | [^"\\\x00-\x1f] rest | "\\" ["\\/bfnrt] rest | "\\u" hex hex hex hex rest
hex ::= [0-9a-fA-F]
integer ::= "-"? ("0" | [1-9] [0-9]{0,17})
boolean ::= "true" | "false"
"""
_COMMA = '", "'
_NOTES = frozenset({"title", "description", "$schema"})


class _NotHere(Exception):
    """A schema says something that is not translated."""


def grammar_of(schema: Any) -> str | None:
    """A grammar all of whose texts obey `schema`, or None for a schema that has more than the usual.

    The usual: objects all of whose properties are required and no others allowed, arrays with `minItems` and
    `maxItems`, strings with `maxLength`, `enum`, `integer` and `boolean`.
    """
    grammar = _Grammar()
    try:
        root = grammar.value(schema)
    except _NotHere:
        return None
    named = "".join(f"{name} ::= {text}\n" for text, name in grammar.rules.items())
    return f"root ::= {root}\n{named}{_RULES}"


class _Grammar:
    """Collects a rule for each kind of string and item: what stands in two places is compiled once."""

    def __init__(self) -> None:
        self.rules: dict[str, str] = {}

    def value(self, schema: Any) -> str:
        """The right side of a rule."""
        if not isinstance(schema, Mapping):
            raise _NotHere
        said = {key: value for key, value in schema.items() if key not in _NOTES}
        kind = said.pop("type", None)
        if "enum" in said:
            return _choice(**_only(said, "enum"))
        if kind == "object":
            return self._object(**_only(said, "properties", "required", "additionalProperties"))
        if kind == "array":
            return self._array(**_only(said, "items", "minItems", "maxItems"))
        if kind == "string":
            return self._string(**_only(said, "maxLength"))
        if kind in ("integer", "boolean") and not said:
            return str(kind)
        raise _NotHere

    def _object(
        self,
        properties: Mapping[str, Any] | None = None,
        required: Sequence[str] = (),
        additionalProperties: Any = True,  # noqa: N803  the word of JSON Schema, as are others
    ) -> str:
        if additionalProperties is not False or not properties or set(required) != set(properties):
            raise _NotHere
        pairs = [f"{_word(_json(name) + ': ')} {self.value(inner)}" for name, inner in properties.items()]
        return f'"{{" {f" {_COMMA} ".join(pairs)} "}}"'

    def _array(self, items: Any = None, minItems: int = 0, maxItems: int | None = None) -> str:  # noqa: N803
        if maxItems is not None and not 0 < maxItems >= minItems:
            raise _NotHere
        item = self._named(self.value(items))
        least, most = max(minItems - 1, 0), "" if maxItems is None else maxItems - 1
        several = item if most == 0 else f"{item} ({_COMMA} {item}){{{least},{most}}}"
        return f'"[" {several} "]"' if minItems else f'"[" ({several})? "]"'

    def _string(self, maxLength: int | None = None) -> str:  # noqa: N803
        if maxLength is None or maxLength > LONGEST:
            return "string"
        return self._named(rf'"\"" [^"\\\x00-\x1f]{{0,{maxLength}}} "\""')

    def _named(self, text: str) -> str:
        return text if text.isidentifier() else self.rules.setdefault(text, f"part{len(self.rules)}")


def _only(said: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    if set(said) - set(names):
        raise _NotHere
    return said


def _choice(enum: Sequence[Any]) -> str:
    if not enum:
        raise _NotHere
    return f"({' | '.join(_word(_json(value)) for value in enum)})"


def _json(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False)


def _word(text: str) -> str:
    """A terminal of the grammar."""
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
