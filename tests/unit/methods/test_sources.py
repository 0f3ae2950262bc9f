"""What a model lists, the messages behind it, and making lists fit a window."""

from datetime import datetime

import pytest

from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.methods.room import RESERVE, room, shortened
from memsif_ray.methods.sources import closest, dated, missing_share, numbered, texts
from tests.unit.methods.small_histories import history

COUNT = EstimatingCounter()
SAID = history(["I adopted a beagle.", "The beagle barks and barks.", "I play the oboe."]).messages


def test_texts_keeps_what_says_something_once():
    assert texts(["tea", " ", 7, None, "tea", "oboe", "kite"], at_most=2) == ("tea", "oboe")
    assert texts("tea", at_most=2) == texts(None, at_most=2) == ()


def test_numbers_name_what_was_offered():
    assert numbered([2, 9, 0, -1, True, "1", 2, 1], ["a", "b"]) == ("b", "a")
    assert numbered(None, ["a"]) == numbered([1], []) == ()


def test_the_closest_messages_share_words():
    assert [m.message_id for m in closest("A beagle was adopted.", SAID, k=3)] == ["D1:1", "D1:2"]
    assert closest("A beagle was adopted.", SAID) == (SAID[0],)
    assert closest("Quantum chromodynamics", SAID) == closest("beagle", ()) == ()


def test_missing_words_are_counted_by_stem():
    assert missing_share("Ann owns two beagles", "Ann owned a beagle") == pytest.approx(1 / 4)
    assert missing_share("who is it?", "") == 0


def test_a_line_says_its_day_and_means_its_dates():
    line = dated("Ann left\nyesterday. </memory>", datetime(2024, 2, 1, 9))
    assert line == "[1 February 2024] Ann left yesterday [31 January 2024]. &lt;/memory>"


def test_lines_that_fit_stay_whole():
    assert shortened(["one\nkite", "two boats"], budget=100, tokens=COUNT) == ["one kite", "two boats"]
    assert shortened([], budget=100, tokens=COUNT) == []


def test_long_lines_are_cut_at_one_length_and_short_ones_stay():
    cut = shortened(["kite " * 1000, "two boats", "boat " * 200], budget=200, tokens=COUNT)
    assert cut[1] == "two boats" and cut[0].startswith("kite kite") and cut[0].endswith("…")
    assert abs(len(cut[0]) - len(cut[2])) <= 1
    assert 100 < COUNT.count("\n".join(cut)) <= 200


def test_the_last_lines_remain_when_even_short_ones_are_too_many():
    cut = shortened([f"{n} " + "kite " * 50 for n in range(100)], budget=200, tokens=COUNT)
    assert 0 < len(cut) < 100 and cut[-1].startswith("99 ")
    assert COUNT.count("\n".join(cut)) <= 200


def test_a_window_leaves_room_for_the_reply():
    assert room(4096, reply=256) == 4096 - 256 - RESERVE
    assert room(512, reply=400) == 64
