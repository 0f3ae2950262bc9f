"""Does an answer abstain? Decided by rules, so that questions to abstain from need no judge."""

from __future__ import annotations

import re

_NOT = r"(?:\bnot|\bnever|n't)"
_CANNOT = r"(?:can ?not|can't|could not)"
_SOURCE = r"\b(?:conversation|context|text|history|notes?|memory|memories|information)"
_HELD_BACK = (
    r"^\W*(?:unanswerable|unknown|n/?a)\W*$",
    rf"{_NOT} (?:\w+ly |been )*(?:mentioned|specified|stated|disclosed)\b",
    r"\b(?:do|does|did)(?: not|n't) (?:\w+ly )?mention\b",
    rf"{_SOURCE} (?:do|does|did)(?: not|n't) (?:contain|provide|specify|include|say|state)\b",
    rf"{_SOURCE} (?:is|was)(?: not|n't) available\b",
    r"^\W*(?:there (?:is|was|are|were) )?no (?:\w+ ){0,2}?(?:information|mention|record|details|evidence)\b",
    r"\b(?:insufficient|not enough|(?:not|n't) have enough) (?:information|context|evidence)\b",
    rf"\b{_CANNOT} be (?:determined|answered|inferred|found)\b",
    r"\b(?:i|we) (?:do|did)(?: not|n't) (?:know|have|recall|find)\b",
    rf"(?:^\W*|\b(?:i|we) (?:am |are )?)(?:{_CANNOT}|unable to) (?:determine|answer|tell|find)\b",
)
_ABSTAINS = re.compile("|".join(_HELD_BACK), re.I)
_GOES_ON = re.compile(r"\b(?:but|however|although|though|probably|perhaps|maybe|might)\b", re.I)
_LONGEST = 40


def abstains(text: str) -> bool:
    """Whether an answer says that the history does not tell, and claims nothing else.

    Only a short answer can abstain: one of more than 40 words, or one that goes on to guess ("not
    mentioned, but probably a sea opera"), makes a claim, whatever negation it contains.
    """
    words = text.replace("\u2019", "'").split()
    plain = " ".join(words)
    return len(words) <= _LONGEST and not _GOES_ON.search(plain) and _ABSTAINS.search(plain) is not None
