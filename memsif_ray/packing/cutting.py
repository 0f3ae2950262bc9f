"""Cut a text to a number of tokens: after a sentence, else after a word, never inside a character."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import regex

from memsif_ray.ports import TokenCounter
from memsif_ray.prompts import escape

_CLUSTER = regex.compile(r"\X")
_WORD_BREAK = regex.compile(r"(?w)\b")  # UAX #29: an apostrophe or a decimal point is no end of a word
_SENTENCE_END = regex.compile(r"""[.!?…]+["'”’»)\]]*(?=\s)|[。！？｡]+[」』”’]*""")


def cut(text: str, budget: int, *, tokens: TokenCounter) -> str:
    """The beginning of `text` that a prompt shows in at most `budget` tokens; "" when none does.

    A cut after a sentence is preferred as long as it keeps half of what a cut after a word would. A text
    whose first word is already too long is cut between two grapheme clusters.
    """
    text = escape(text)
    if budget <= 0 or tokens.count(text) <= budget:
        return text if budget > 0 else ""
    characters = [match.end() for match in _CLUSTER.finditer(text)]
    whole = set(characters)
    words = [end for end in _ends(text, _WORD_BREAK) if end in whole and not text[end - 1].isspace()]
    sentences = [end for end in _ends(text, _SENTENCE_END) if end in whole]
    fits = partial(_fits, budget=budget, tokens=tokens)
    longest = _longest(text, words, fits=fits) or _longest(text, characters, fits=fits)
    sentence = _longest(text, sentences, fits=fits)
    return sentence if 2 * len(sentence) >= len(longest) else longest


def _ends(text: str, pattern: regex.Pattern[str]) -> list[int]:
    return [match.end() for match in pattern.finditer(text) if match.end()]


def _fits(text: str, *, budget: int, tokens: TokenCounter) -> bool:
    return tokens.count(text) <= budget


def _longest(text: str, ends: Sequence[int], *, fits: Callable[[str], bool]) -> str:
    """By bisection: a longer beginning hardly ever has fewer tokens, and what is returned was counted."""
    kept, low, high = "", 0, len(ends)
    while low < high:
        middle = (low + high) // 2
        # Escaped again: a cut may turn a harmless `<notes-2` into one of our delimiters.
        start = escape(text[: ends[middle]])
        if fits(start):
            kept, low = start, middle + 1
        else:
            high = middle
    return kept
