"""What a text talks about, as comparable terms: no function words, word forms brought together."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from functools import lru_cache

import Stemmer

from memsif_ray.text import searchable, words

FUNCTION_WORDS = frozenset(
    words("""
    a an the and or but nor of in on at to for from with by as about into over after before during between
    through against without within along across behind beyond near up down out off is are was were be been
    being am has have had having do does did doing done will would shall should can could may might must i
    me my mine myself you your yours yourself he him his himself she her hers herself it its itself we us
    our ours ourselves they them their theirs themselves this that these those there here who whom whose
    which what when where why how not no yes than then so too very also just only some any each every all
    both more most other another such same if because while until since s t re ve ll d m user speaker don
    didn doesn isn aren wasn weren hasn haven hadn couldn wouldn shouldn
    """)
)
"""English words that carry no content of their own, and the model's words for whoever is speaking."""

# Scripts whose words are not set apart by spaces, as Unicode character names begin.
_UNSPACED = frozenset({"CJK", "THAI", "LAO", "KHMER", "MYANMAR"})


@lru_cache(maxsize=4096)
def _script(character: str) -> str:
    name = unicodedata.name(character, "").split(" ")[0]
    return "CJK" if name.startswith(("HIRAGANA", "KATAKANA")) else name


def scripts(text: str) -> frozenset[str]:
    """Scripts of the letters in `text`, e.g. `LATIN`, `ARABIC`, `CJK` (Chinese and Japanese together)."""
    return frozenset(_script(character) for character in searchable(text) if character.isalpha())


def is_unspaced(word: str) -> bool:
    """True for a token of a script written without spaces, where `words` gives single characters."""
    return _script(word[0]) in _UNSPACED


def content_words(text: str) -> list[str]:
    """Words that carry content, in order; unspaced scripts give pairs of neighbouring characters.

    A single Chinese character says too little to compare by; a pair is most often a word.
    """
    return [word for word in _paired(words(text)) if word not in FUNCTION_WORDS]


def stems(tokens: list[str]) -> list[str]:
    """Stems, one per token: "owns", "owned" and "own" are one. Other languages pass nearly unchanged."""
    # A new stemmer each time: it costs 0.3 µs and the object must not be shared between threads.
    stemmed: list[str] = Stemmer.Stemmer("english").stemWords(tokens)
    return stemmed


def _paired(tokens: list[str]) -> Iterator[str]:
    run = ""
    for token in [*tokens, " "]:
        if is_unspaced(token):
            run += token
            continue
        if run:
            yield from (run[i : i + 2] for i in range(max(1, len(run) - 1)))
            run = ""
        if token != " ":
            yield token
