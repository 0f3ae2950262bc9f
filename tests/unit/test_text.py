"""Invalid, invisible and missing characters (cases MC-18, MC-19)."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memsif_ray.text import clean, is_blank, searchable, truncate, words

any_text = st.text(alphabet=st.characters(exclude_categories=()))  # surrogates included


def test_lone_halves_become_the_replacement_character() -> None:
    assert clean("half high \ud83d end") == "half high \ufffd end"
    assert clean("half low \udc4d end") == "half low \ufffd end"
    assert clean("\ud83d") == "\ufffd"


def test_an_escaped_pair_is_one_character() -> None:
    assert clean(json.loads(r'"escaped pair \ud83c\udf78 ok"')) == "escaped pair \U0001f378 ok"
    assert clean("\ud83c" + "\udf78") == "\U0001f378"


def test_nul_is_removed() -> None:
    assert clean("nul\0inside") == "nulinside"


def test_logical_order_and_invisible_characters_are_kept_by_clean() -> None:
    for text in (
        "\u202edetsurt si siht\u202c",
        "zero\u200bwidth\u2060word",
        "הכלב שלי Rex בן 3",
        "\ufeffmark",
    ):
        assert clean(text) == text


@given(any_text)
def test_clean_text_is_valid_and_stays_as_it_is(text: str) -> None:
    cleaned = clean(text)
    assert cleaned.encode("utf-8").decode("utf-8") == cleaned
    assert clean(cleaned) == cleaned


def test_search_sees_through_invisible_characters() -> None:
    assert searchable("\u202edetsurt si siht\u202c") == "detsurt si siht"
    assert searchable("zero\u200bwidth\u2060word") == "zerowidthword"
    assert searchable("STRASSE") == searchable("straße")
    assert searchable("cafe\u0301") == searchable("CAFÉ")
    assert searchable("ｆｕｌｌ") == "full"


def test_search_keeps_joined_emoji_whole() -> None:
    cook = "👩\u200d🍳"
    assert searchable(f"My {cook} friend") == f"my {cook} friend"
    assert searchable("👩🏽\u200d❤\ufe0f\u200d👩🏽") == "👩🏽\u200d❤\ufe0f\u200d👩🏽"
    assert searchable("🍳\u200d pan") == "🍳 pan"


@pytest.mark.parametrize("text", ["", " \n\t\u00a0", "\u200b", "\ufeff\u200f", "\0", "\u3000"])
def test_blank(text: str) -> None:
    assert is_blank(text)


@pytest.mark.parametrize("text", [".", ";)", "\ud83d", "🍳", " a "])
def test_not_blank(text: str) -> None:
    assert not is_blank(text)


@pytest.mark.parametrize(
    ("limit", "kept"),
    [
        (15, "My chef friend "),
        (16, "My chef friend "),
        (17, "My chef friend "),
        (18, "My chef friend 👩\u200d🍳"),
    ],
)
def test_a_cut_never_halves_an_emoji(limit: int, kept: str) -> None:
    assert truncate("My chef friend 👩\u200d🍳 cooks", limit) == kept


@given(any_text, st.integers(min_value=0, max_value=40))
def test_a_cut_is_a_short_enough_beginning(text: str, limit: int) -> None:
    cut = truncate(text, limit)
    assert len(cut) <= limit or len(text) <= limit
    assert text.startswith(cut)


def test_words() -> None:
    assert words("Caroline's 2 dogs, Über-cute!") == ["caroline", "s", "2", "dogs", "über", "cute"]
    assert words("我爱北京 and ひらがな") == ["我", "爱", "北", "京", "and", "ひ", "ら", "が", "な"]
    assert words("한국어 텍스트") == ["한국어", "텍스트"]
    assert words("ไทย") == ["ไ", "ท", "ย"]
    assert words("हिन्दी भाषा") == ["हिन्दी", "भाषा"]
    assert words("...  ") == []


def test_emoji_are_no_words() -> None:
    assert words("👩\u200d🍳 ok ❤\ufe0f 👍🏽") == ["ok"]


@given(any_text)
def test_words_are_made_of_visible_characters(text: str) -> None:
    assert not any(is_blank(word) for word in words(text))
    assert searchable(searchable(text)) == searchable(text)
