"""No text with a date phrase is passed over for want of a hint."""

import random

import pytest

from memsif_ray.memory.date_phrases import HINT, RULES

COUNTS = ["a", "an", "one", "two", "twelve", "3", "12", "2023", "1st", "2023-05-07", "2024/1/2", "2024-05"]
MONTHS = ["May", "March", "Mar", "april", "June", "Sept.", "dec", "may"]
DAYS = ["today", "yesterday", "tomorrow", "tonight", "monday", "wed", "friday", "morning", "evening", "night"]
UNITS = ["day", "days", "week", "weeks", "weekend", "month", "year", "years", "spring", "fall", "winter"]
SMALL = ["in", "since", "of", "the", "this", "last", "next", "past", "coming", "ago", "from", "now", "before"]
WORDS = [*COUNTS, *MONTHS, *DAYS, *UNITS, *SMALL, "the month before", "the day after", "from now"]


@pytest.mark.parametrize("seed", range(10))
def test_whatever_matches_has_a_hint(seed):
    rng = random.Random(seed)
    texts = [" ".join(rng.choices(WORDS, k=rng.randint(1, 5))) for _ in range(3000)]
    dated = [text for text in texts if any(pattern.search(text) for pattern, _ in RULES)]
    assert len(dated) > 500
    assert [text for text in dated if HINT.search(text) is None] == []


def test_each_kind_of_phrase_is_among_what_was_drawn():
    rng = random.Random(0)
    texts = [" ".join(rng.choices(WORDS, k=4)) for _ in range(60_000)]
    assert all(any(pattern.search(text) for text in texts) for pattern, _ in RULES)


def test_most_texts_have_none():
    assert HINT.search("I love oat milk, and so does my sister Uma.") is None
