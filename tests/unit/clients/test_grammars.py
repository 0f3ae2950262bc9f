"""Which schemas become grammars, and what these say; that models obey them is tested with a real one."""

import json
from pathlib import Path

import pytest

import memsif_ray.prompts
from memsif_ray.clients.embedded.grammars import grammar_of
from tests.json_schemas import object_of

SCHEMAS = sorted(Path(memsif_ray.prompts.__file__).parent.rglob("*.schema.json"))
TEXT = {"type": "string"}


def rules_of(schema):
    return dict(line.split(" ::= ") for line in grammar_of(schema).splitlines() if line)


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name.removesuffix(".schema.json"))
def test_all_our_schemas_have_a_grammar(path):
    assert grammar_of(json.loads(path.read_text())) is not None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "object"},
        {"type": "object", "properties": {"a": TEXT}, "required": [], "additionalProperties": False},
        {"type": "object", "properties": {"a": TEXT}, "required": ["a"]},
        object_of(a={"type": "number"}),
        object_of(a={"type": ["string", "null"]}),
        object_of(a={"type": "string", "pattern": "x"}),
        object_of(a={"type": "integer", "minimum": 1}),
        object_of(a={"anyOf": [TEXT]}),
        object_of(a={"enum": []}),
        object_of(a={"type": "array"}),
        object_of(a={"type": "array", "items": TEXT, "minItems": 3, "maxItems": 2}),
        object_of(a={"type": "array", "items": TEXT, "uniqueItems": True}),
        True,
        [],
    ],
)
def test_what_says_more_than_the_usual_has_none(schema):
    assert grammar_of(schema) is None


def test_words_are_escaped_twice_and_blanks_are_fixed():
    root = rules_of(object_of(**{'a"': {"enum": ["é\\", 1]}, "b": {"type": "boolean"}}))["root"]
    assert root == r'''"{" "\"a\\\"\": " ("\"é\\\\\"" | "1") ", " "\"b\": " boolean "}"'''


def test_items_are_counted_and_kinds_are_written_once():
    short = {"type": "string", "maxLength": 9}
    rules = rules_of(
        object_of(
            a={"type": "array", "items": short, "minItems": 2, "maxItems": 4},
            b={"type": "array", "items": short, "maxItems": 1},
            c={"type": "array", "items": TEXT},
        )
    )
    assert rules["part0"] == r'"\"" [^"\\\x00-\x1f]{0,9} "\""'
    assert '"[" part0 (", " part0){1,3} "]"' in rules["root"]
    assert '"[" (part0)? "]"' in rules["root"]
    assert '"[" (string (", " string){0,})? "]"' in rules["root"] and "part1" not in rules


def test_a_bound_that_would_slow_everybody_is_left_out():
    assert "string" in rules_of(object_of(a={"type": "string", "maxLength": 257}))["root"]
