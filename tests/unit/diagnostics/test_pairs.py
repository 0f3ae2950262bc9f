"""Terciles of pairs over all conversations, and what a model gets to judge."""

from collections import Counter

import numpy as np

from memsif_ray.diagnostics.pairs import ADJACENT, NEIGHBOUR, PairColumns, sample_pairs
from memsif_ray.diagnostics.segmentation import FixedSegment


def segments(conversation_id):
    return [FixedSegment(n, (f"m{n}",), f"{conversation_id} says {n}") for n in range(400)]


def columns(values, conversation_ids=None):
    number = np.arange(len(values))
    return PairColumns(conversation_ids or ["c1"] * len(values), number, number + 1, np.array(values, float))


def test_each_tercile_gives_its_share():
    pairs, division = sample_pairs(ADJACENT, columns(range(330)), segments)
    assert Counter(pair.bucket for pair in pairs) == {"low": 100, "mid": 100, "high": 100}
    assert division.sizes == {"low": 110, "mid": 110, "high": 110}
    low, high = division.cuts
    for pair in pairs:
        assert pair.bucket == ("low" if pair.value <= low else "mid" if pair.value <= high else "high")


def test_a_pair_carries_texts_ids_and_what_divides_it():
    (pair,) = sample_pairs(NEIGHBOUR, columns([0.25]), segments)[0]
    assert (pair.pair_id, pair.kind, pair.bucket) == ("neighbour:c1:0-1", "neighbour", "near")
    assert (pair.left_text, pair.right_text) == ("c1 says 0", "c1 says 1")
    assert (pair.left_message_ids, pair.right_message_ids, pair.value) == (("m0",), ("m1",), 0.25)


def test_the_order_of_rows_does_not_matter():
    values = list(np.random.default_rng(1).normal(size=300))
    whole = columns(values)
    order = np.random.default_rng(2).permutation(300)
    shuffled = PairColumns(["c1"] * 300, whole.left[order], whole.right[order], whole.values[order])
    assert sample_pairs(ADJACENT, whole, segments)[0] == sample_pairs(ADJACENT, shuffled, segments)[0]


def test_conversations_share_terciles():
    values = [0.0] * 3 + [1.0] * 3 + [2.0] * 3
    pairs, _ = sample_pairs(NEIGHBOUR, columns(values, ["a"] * 3 + ["b"] * 3 + ["c"] * 3), segments)
    assert {(pair.conversation_id, pair.bucket) for pair in pairs} == {
        ("a", "near"),
        ("b", "mid"),
        ("c", "far"),
    }


def test_no_pairs_are_no_samples():
    pairs, division = sample_pairs(ADJACENT, columns([]), segments)
    assert (pairs, division.cuts, sum(division.sizes.values())) == ([], None, 0)
