"""One conversation from messages to rows, rows to averages, and no NaN whatever the vectors."""

import math
from dataclasses import astuple
from datetime import datetime

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from memsif_ray.clients.scripted import HashEmbedder
from memsif_ray.diagnostics.segmentation import LENGTHS, PAIR_LENGTH, fixed_segments
from memsif_ray.diagnostics.tsm import (
    Measure,
    TsmMeasure,
    average,
    measure_conversation,
    measure_vectors,
)
from memsif_ray.types import Conversation, Message


def conversation(*texts):
    messages = tuple(
        Message("c1", f"m{i}", i, 1, "Ann", text, datetime(2024, 1, 1)) for i, text in enumerate(texts)
    )
    return Conversation("c1", "locomo", ("Ann",), messages)


class Counting(HashEmbedder):
    """Keeps every text it was asked for."""

    def __init__(self):
        super().__init__(32)
        self.texts = []

    async def embed(self, texts):
        self.texts += texts
        return await super().embed(texts)


def of(found, measure, k=None):
    return {row.segment_length: row.value for row in found.measures if (row.measure, row.k) == (measure, k)}


def test_segments_pass_over_blank_messages_and_the_last_may_be_short():
    segments = fixed_segments(conversation("a", " ", "b", "c", "d", "e").messages, 2)
    assert [segment.text for segment in segments] == ["a\nb", "c\nd", "e"]
    assert [segment.message_ids for segment in segments] == [("m0", "m2"), ("m3", "m4"), ("m5",)]
    assert [segment.number for segment in segments] == [0, 1, 2]


async def test_every_distinct_text_is_embedded_once():
    embedder = Counting()
    await measure_conversation(conversation("hi", "hi", "hi", "there", "hi", "hi"), embedder)
    assert len(embedder.texts) == len(set(embedder.texts))
    assert set(embedder.texts) == {
        *("hi", "there"),
        *("hi\nhi", "hi\nthere"),
        *("hi\nhi\nhi\nthere", "hi\nhi\nhi\nthere\nhi\nhi"),
    }


async def test_a_conversation_gives_a_row_per_measure_and_all_pairs():
    found = await measure_conversation(conversation(*(f"word{n}" for n in range(12))), HashEmbedder(32))
    assert set(of(found, Measure.ASV)) == set(LENGTHS)
    assert of(found, Measure.RANDOM) == {
        PAIR_LENGTH: pytest.approx(7 / 15)
    }  # six segments: (6 + 1) / (3 * 5)
    assert of(found, Measure.SNTD, 8) == {PAIR_LENGTH: pytest.approx(7 / 15)}  # all five others count
    assert [(pair.left, pair.right) for pair in found.adjacent] == [(i, i + 1) for i in range(5)]
    assert sorted((pair.left, pair.right) for pair in found.neighbours) == [
        (i, j) for i in range(6) for j in range(i + 1, 6)
    ]
    assert all(pair.distance == (pair.right - pair.left) / 5 for pair in found.neighbours)


@pytest.mark.parametrize(
    ("texts", "asv", "sntd"),
    [
        ((), "no_segments", "no_segments"),
        ((" ", ""), "no_segments", "no_segments"),
        (("a", "b"), "one_segment", "one_segment"),
        (("a", "b", "c"), "two_segments", ""),
    ],
)
async def test_short_conversations_have_reasons(texts, asv, sntd):
    found = await measure_conversation(conversation(*texts), HashEmbedder(32))
    reasons = {(row.measure, row.segment_length, row.k): row.reason for row in found.measures}
    assert reasons[Measure.ASV, PAIR_LENGTH, None] == asv
    assert reasons[Measure.SNTD, PAIR_LENGTH, 1] == reasons[Measure.DRAWN, PAIR_LENGTH, 8] == sntd


def test_draws_of_conversations_are_their_own():
    vectors = dict.fromkeys(LENGTHS, np.eye(9, dtype=np.float32))
    drawn = [of(measure_vectors(name, vectors), Measure.DRAWN, 2) for name in ("a", "b", "a")]
    assert drawn[0] == drawn[2] != drawn[1]


_NUMBERS = st.sampled_from([0.0, 1.0, -1.0, 0.5, 1e-30, 1e30, math.inf, math.nan])


@given(arrays.arrays(np.float32, st.tuples(st.integers(0, 12), st.integers(1, 3)), elements=_NUMBERS))
def test_there_is_a_value_or_a_reason_and_never_nan(vectors):
    found = measure_vectors("c1", dict.fromkeys(LENGTHS, vectors))
    for row in found.measures:
        assert (row.value is None) == bool(row.reason)
    numbers = [
        value for row in (*found.measures, *found.adjacent, *found.neighbours) for value in astuple(row)
    ]
    assert all(math.isfinite(number) for number in numbers if isinstance(number, float))


def test_averages_count_each_conversation_once_and_say_who_is_missing():
    rows = [
        TsmMeasure("a", Measure.ASV, 2, None, 90, 0.2),
        TsmMeasure("b", Measure.ASV, 2, None, 10, 0.4),
        TsmMeasure("c", Measure.ASV, 2, None, 1, None, reason="one_segment"),
        TsmMeasure("a", Measure.DRAWN, 2, 1, 90, 0.3, 0.03),
        TsmMeasure("b", Measure.DRAWN, 2, 1, 10, 0.5, 0.04),
        TsmMeasure("c", Measure.SNTD, 2, 1, 1, None, reason="one_segment"),
    ]
    asv, drawn, sntd = average(rows)
    assert (asv.value, asv.low, asv.high, asv.conversations) == (pytest.approx(0.3), 0.2, 0.4, 2)
    assert dict(asv.missing) == {"one_segment": 1}
    assert (drawn.value, drawn.error) == (pytest.approx(0.4), pytest.approx(0.025))  # 0.05 / 2
    assert (sntd.value, sntd.low, sntd.conversations) == (None, None, 0)
