"""Docstrings as a table."""

import sys
from functools import partial
from types import ModuleType

import pytest

from memsif_ray.methods.about import about

TEXT = """Toy memory: keeps
the last word.

More about it.

Paper: Ann and Bo 2025, "Last words".
Official code:
    https://example.org/toy, MIT;
    read at version 1.
Variants:
    - toy:first: Keeps the first word.
Deviations:
    - Words are stems,
      not letters.
    - No cache: nobody asked.
"""


@pytest.fixture
def maker(monkeypatch):
    def build(text):
        module = ModuleType("toy_memory", text)
        exec("def make(): pass", module.__dict__)
        module.make.__module__ = "toy_memory"
        monkeypatch.setitem(sys.modules, "toy_memory", module)
        return module.make

    return build


def test_every_section_is_read_and_lines_are_joined(maker):
    found = about("toy", maker(TEXT))
    assert found.what == "Toy memory: keeps the last word."
    assert found.paper == 'Ann and Bo 2025, "Last words".'
    assert found.official_code == "https://example.org/toy, MIT; read at version 1."
    assert found.deviations == ("Words are stems, not letters.", "No cache: nobody asked.")


def test_a_variant_is_described_by_its_own_entry_and_shares_the_rest(maker):
    found = about("toy:first", partial(maker(TEXT), first=True))
    assert (found.name, found.what) == ("toy:first", "Keeps the first word.")
    assert found.deviations == about("toy", maker(TEXT)).deviations


@pytest.mark.parametrize("none", ["None.", "- None.", "    None."])
def test_no_deviation_is_none_and_not_one_called_none(maker, none):
    assert about("toy", maker(f"Toy.\n\nDeviations:\n{none}")).deviations == ()


def test_what_is_not_said_is_empty(maker):
    found = about("toy", maker(None))
    assert (found.what, found.paper, found.official_code, found.deviations) == ("", "", "", ())
