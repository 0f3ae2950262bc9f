"""Inputs of MC-21: a server that counts otherwise than characters divided by four."""

import base64
import logging
import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.clients.scripted_server import scripted_server
from memsif_ray.clients.tokens import EstimatingCounter, ServedTokenCounter
from memsif_ray.config import ModelConfig
from memsif_ray.errors import ConfigError

LIMIT, OVERHEAD = 2048, 52
ENGLISH = ("the ferry to the island leaves at noon and comes back before dark so bring a coat " * 80)[
    :6000
].strip()
DENSE = base64.b64encode(random.Random(5).randbytes(1500)).decode()
NOTES = ["茶" * 1200] * 4


def served_count(text):
    return len(text) if text[0] in "茶🦀" or text == DENSE else math.ceil(len(text) / 4)


@pytest.mark.parametrize(
    "text", [*NOTES, "茶" * 2500, ENGLISH, "🦀" * 1500, DENSE], ids=lambda text: text[:4]
)
def test_the_estimate_is_never_below_the_servers_count(text):
    assert EstimatingCounter().count(text) >= served_count(text)


def test_notes_packed_by_the_estimate_are_never_refused():
    """MC-21: characters / 4 would put all four notes (4,852 tokens) into one call of 2,048."""
    counter, calls = EstimatingCounter(), [[]]
    for note in NOTES:
        if calls[-1] and sum(map(counter.count, [*calls[-1], note])) + OVERHEAD > LIMIT:
            calls.append([])
        calls[-1].append(note)
    assert [note for call in calls for note in call] == NOTES
    assert all(sum(map(served_count, call)) + OVERHEAD <= LIMIT for call in calls)


def test_english_is_not_wildly_overestimated():
    assert EstimatingCounter().count(ENGLISH) <= 1.1 * served_count(ENGLISH)


@given(st.text(), st.text())
def test_the_estimate_is_monotone_and_says_that_it_is_one(text, more):
    counter = EstimatingCounter()
    assert not counter.exact
    assert (counter.count(text) == 0) == (text == "")
    assert counter.count(f"{text}\n{more}") >= counter.count(text)


def test_the_servers_own_count_is_cached():
    with scripted_server() as server:
        counter = ServedTokenCounter(ModelConfig(base_url=server.base_url))
        assert counter.exact
        assert [counter.count(text) for text in ("茶茶", "茶茶", "", "茶")] == [2, 2, 0, 1]
        counter.close()
    assert server.requests["/tokenize"] == 2


def test_one_warning_then_the_estimate_for_good(caplog):
    with scripted_server() as server:
        root = server.base_url.removesuffix("/v1")
        with caplog.at_level(logging.WARNING):
            counter = ServedTokenCounter(ModelConfig(base_url=f"{root}/no-such-place/v1"))
            counts = [counter.count(text) for text in ("茶茶", "茶", "tea")]
        counter.close()
    assert counts == [EstimatingCounter().count(text) for text in ("茶茶", "茶", "tea")]
    assert not counter.exact
    assert len([record for record in caplog.records if "estimating" in record.message]) == 1


def test_a_dead_endpoint_is_no_reason_to_stop():
    with scripted_server() as server:
        pass
    counter = ServedTokenCounter(ModelConfig(base_url=server.base_url), timeout_s=1.0)
    assert counter.count("茶") == 1 and not counter.exact


def test_an_endpoint_must_be_named():
    with pytest.raises(ConfigError, match="base_url"):
        ServedTokenCounter(ModelConfig())
