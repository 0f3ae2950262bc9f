"""Bounds on strings that would slow every request in the batch."""

import json
from pathlib import Path

import pytest

import memsif_ray.prompts
from memsif_ray.clients.embedded.schemas import LONGEST, affordable

PROMPTS = Path(memsif_ray.prompts.__file__).parent
SCHEMAS = sorted(path for path in PROMPTS.rglob("*.schema.json") if path.parent != PROMPTS)
"""Those of compared systems and judges. Memory's own are as they were when models were measured with them."""


def test_only_bounds_above_the_longest_are_dropped():
    within = {"type": "string", "maxLength": LONGEST}
    above = {"type": "string", "maxLength": LONGEST + 1}
    schema = {
        "type": "object",
        "properties": {"a": within, "b": above, "maxLength": {"type": "array", "items": above}},
        "anyOf": [above, {"type": "integer"}],
    }
    assert affordable(schema) == {
        "type": "object",
        "properties": {
            "a": within,
            "b": {"type": "string"},
            "maxLength": {"type": "array", "items": {"type": "string"}},
        },
        "anyOf": [{"type": "string"}, {"type": "integer"}],
    }


@pytest.mark.parametrize("path", SCHEMAS, ids=lambda path: path.name.removesuffix(".schema.json"))
def test_our_own_schemas_have_none(path):
    schema = json.loads(path.read_text())
    assert affordable(schema) == schema
