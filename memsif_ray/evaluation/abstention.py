"""Does an answer abstain? Decided by rules, so that questions to abstain from need no judge."""

from __future__ import annotations

import re

_NOT = r"(?:\bnot|\bnever|n't)"
_CANNOT = r"(?:can ?not|can't|could not)"
_SOURCE = r"\b(?:conversation|context|text|history|notes?|memory|memories|information)"
_HELD_BACK = (
    r"^\W*(?:unanswerable|unknown|n/?a)\W*$",
    rf"{_NOT} (?:\w+ly |been )*(?:mentioned|specified|stated|disclosed)\b",
    r"\b(?:do|does|did)(?: not|n't) (?:\w+ly )?(?:mention|specify|disclose)\b",
    rf"{_SOURCE} (?:do|does|did)(?: not|n't) (?:contain|provide|specify|include|say|state)\b",
    rf"{_SOURCE}(?: \w+)? (?:is|was)(?: not|n't) (?:available|enough|sufficient)\b",
    r"^\W*(?:there (?:is|was|are|were) )?no (?:\w+ ){0,2}?(?:information|mention|record|details|evidence)\b",
    r"\b(?:insufficient|not enough|(?:not|n't) have enough) (?:information|context|evidence)\b",
    rf"\b{_CANNOT} be (?:determined|answered|inferred|found)\b",
    r"\b(?:i|we) (?:do|did)(?: not|n't) (?:know|recall|find)\b",
    r"\b(?:i|we) (?:do|did)(?: not|n't) have (?:\w+ ){0,3}(?:information|record|memory|details)\b",
    rf"(?:^\W*|\b(?:i|we) (?:am |are )?)(?:{_CANNOT}|unable to) (?:determine|answer|tell|find)\b",
)
_ABSTAINS = re.compile("|".join(_HELD_BACK), re.I)
_GOES_ON = re.compile(r"\b(?:but|however|although|though)\b", re.I)
_GUESSES = re.compile(r"\b(?:probably|perhaps|maybe|might|likely|i think|i guess)\b", re.I)
_SENTENCE_END = re.compile(r"(?<=[a-z]{3}[.!?;])\s")
_LONGEST = 60


def abstains(text: str) -> bool:
    """Whether an answer says that the history does not tell, and claims nothing else.

    The first sentence must say so and not go on ("not mentioned, but it was a sea opera"). What follows may
    tell what is known instead ("you mentioned a cat, but no hamster"), yet not guess, and an answer of more
    than 60 words makes a claim somewhere, whatever negation it contains.
    """
    words = text.replace("\u2019", "'").split()
    plain = " ".join(words)
    if len(words) > _LONGEST or _GUESSES.search(plain):
        return False
    sentence = _SENTENCE_END.split(plain, maxsplit=1)[0]
    said = _ABSTAINS.search(sentence)
    return said is not None and _GOES_ON.search(sentence, said.end()) is None
