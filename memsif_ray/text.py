"""What text is: valid, searchable, blank, cut and split, decided once for the whole system.

Three forms of a message exist and are never mixed up: *raw* as a file or caller gave it, *clean* as it is
stored, embedded and shown ([`clean`][memsif_ray.text.clean]), and *searchable* as an index sees it
([`searchable`][memsif_ray.text.searchable]).
"""

from __future__ import annotations

import unicodedata

import regex

_SURROGATE = regex.compile(r"[\ud800-\udfff]")
_CLUSTER = regex.compile(r"\X")
_BLANK = regex.compile(r"[\s\p{Cc}\p{Default_Ignorable_Code_Point}]*")

# One emoji as UTS #51 builds it: modifiers, variation selectors and tags stay, and so does a joiner that
# really joins two pictures. Any other invisible character only hides a word from a search for it.
_EMOJI_OR_INVISIBLE = regex.compile(
    r"""(?V1x)
    (?P<emoji>
        (?P<picture> \p{Extended_Pictographic} [\p{Emoji_Modifier}\ufe0f\U000e0020-\U000e007f]* )
        (?: \u200d (?&picture) )*
    )
    | \p{Default_Ignorable_Code_Point}
    """
)

# Scripts written without spaces give one token per character, with its marks; Hangul has spaces. A word
# starts with a letter or digit, so that the joiner of an emoji is none.
_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]"
_WORD = regex.compile(
    rf"(?V1){_UNSPACED}\p{{M}}*|[[\p{{L}}\p{{N}}_]--{_UNSPACED}][\w--{_UNSPACED}--\p{{Join_Control}}]*"
)


def clean(text: str) -> str:
    """Valid Unicode that any store or model endpoint accepts; what is readable stays as it was.

    Two surrogate halves that belong together become their one character, a lone half becomes U+FFFD, and
    NUL (which PostgreSQL and some endpoints refuse) is removed. Bidirectional controls and zero-width
    characters stay, in logical order: they are part of what was said.
    """
    text = text.replace("\0", "")
    if _SURROGATE.search(text) is None:
        return text
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")


def searchable(text: str) -> str:
    """The form to index and compare: NFKC, case-folded, without bidi controls and zero-width characters.

    An emoji joined by U+200D keeps its joiners, so that a cook does not turn into a woman and a pan.
    """
    folded = unicodedata.normalize("NFKC", clean(text)).casefold()
    visible = _EMOJI_OR_INVISIBLE.sub(lambda match: match["emoji"] or "", folded)
    return unicodedata.normalize("NFKC", visible)


def is_blank(text: str) -> bool:
    """True when nothing would be seen: white space, no-break space, zero-width and control characters."""
    return _BLANK.fullmatch(text) is not None


def truncate(text: str, limit: int) -> str:
    """The longest beginning of at most `limit` code points that ends between two grapheme clusters."""
    if len(text) <= limit:
        return text
    end = 0
    for cluster in _CLUSTER.finditer(text):
        if cluster.end() > limit:
            break
        end = cluster.end()
    return text[:end]


def words(text: str) -> list[str]:
    """Word tokens of the searchable form, in order; scripts without spaces give single characters."""
    return [match[0] for match in _WORD.finditer(searchable(text))]
