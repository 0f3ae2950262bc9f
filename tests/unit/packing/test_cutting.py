import pytest
import regex
from hypothesis import given, settings
from hypothesis import strategies as st

from memsif_ray.packing.cutting import cut


class Characters:
    exact = True

    def count(self, text):
        return len(text)


@pytest.mark.parametrize(
    ("text", "budget", "kept"),
    [
        ("It rained. We stayed in.", 24, "It rained. We stayed in."),
        ("It rained. We stayed in.", 22, "It rained."),  # 10 characters are half of the 20 of a word's cut
        ("No. We stayed in all day long.", 23, "No. We stayed in all"),  # a sentence of 3 keeps too little
        ("It cost 3.14 euros", 10, "It cost"),  # never inside a number
        ("Ann's dog", 3, "Ann"),  # the first word is too long as it is
        ("我住在北京。我喜欢吃面条", 8, "我住在北京。"),
        ("我住在北京我喜欢吃面条", 8, "我住在北京我喜欢"),
        ("xxxxxxxxxx", 4, "xxxx"),
        ("👩‍👩‍👧‍👦👩‍👩‍👧‍👦", 13, "👩‍👩‍👧‍👦"),
        ("👩‍👩‍👧‍👦", 6, ""),
        ("anything", 0, ""),
        ("", 5, ""),
    ],
)
def test_a_cut_falls_on_a_sentence_else_on_a_word(text, budget, kept):
    assert cut(text, budget, tokens=Characters()) == kept


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="ab 👩‍👧é́.。我\u0301", max_size=60), st.integers(1, 40))
def test_a_cut_is_a_beginning_of_whole_characters(text, budget):
    line = " ".join(text.split())
    kept = cut(text, budget, tokens=Characters())
    assert line.startswith(kept) and len(kept) <= budget
    ends = {0, *(match.end() for match in regex.finditer(r"\X", line))}
    assert len(kept) in ends
