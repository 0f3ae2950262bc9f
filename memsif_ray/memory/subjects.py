"""Whom a fact is about: one canonical subject per person or thing, however it is written.

Two names are one subject when they are spelled alike after normalisation, or when someone said so
(`add_alias`). Similar is never enough: "Sam" and "Sam Okafor" may be a dog and a colleague.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import regex

from memsif_ray.text import searchable

# Brackets stay: "Sam (my dog)" tells two Sams apart.
_EDGES = regex.compile(r"""^[\s"'`*_“”‘’«»¿¡]+|[\s.,;:!?"'`*_“”‘’«»…。，、；：！？؟،؛]+$""")
_POSSESSIVE = regex.compile(r"['’]s$")
_MINE = regex.compile(r"my\s+(?P<of>.+)")
_FIRST_PERSON = frozenset(
    {"i", "me", "my", "mine", "myself", "speaker", "the speaker", "ik", "ich", "我", "أنا"}
)
_USER = frozenset({"user", "the user"})


def name_key(name: str) -> str:
    """The form in which names are compared: NFKC, case, spacing, edge punctuation and a final 's ignored."""
    key = " ".join(searchable(name).split()).replace("’", "'")
    trimmed: str = _EDGES.sub("", _POSSESSIVE.sub("", _EDGES.sub("", key)))
    return trimmed


class SubjectRegistry:
    """Canonical subjects of one conversation.

    Args:
        speakers: Their names, returned exactly as given here.
        user: The speaker whom a model calls "the user"; by default whoever is speaking.
    """

    def __init__(self, speakers: Iterable[str] = (), *, user: str | None = None) -> None:
        """Register the speakers; nobody else has to be known beforehand."""
        self._speakers = {name_key(speaker): speaker for speaker in speakers}
        self._user = user
        self._aliases: dict[str, str] = {}

    def resolve(self, name: str, *, speaker: str | None = None) -> str:
        """The canonical subject that `name` means.

        A speaker comes back as registered, anyone else as the `name_key` of the name or of what it is
        an alias for, so the result does not depend on the order in which names are met.

        Args:
            name: As a message or model wrote it.
            speaker: Who said it: "I" is this speaker, "my sister" this speaker's sister.
        """
        key = name_key(name)
        if key in _USER and (self._user or speaker):
            key = name_key(self._user or speaker or "")
        elif speaker and key in _FIRST_PERSON:
            key = name_key(speaker)
        elif speaker and (mine := _MINE.fullmatch(key)):
            key = f"{name_key(speaker)}'s {mine['of']}"
        key = self._aliases.get(key, key)
        return self._speakers.get(key, key)

    def meet(self, speaker: str) -> None:
        """Register somebody who has begun to speak."""
        self._speakers.setdefault(name_key(speaker), speaker)
        if speaker == "user":
            self._user = speaker

    def add_alias(self, alias: str, subject: str) -> None:
        """Learn that `alias` is another name of `subject`.

        Raises:
            ValueError: When `alias` already means somebody else: two people are never fused.
        """
        known, target = name_key(alias), name_key(self.resolve(subject))
        taken = known in self._speakers or known in self._aliases.values()
        if self._aliases.get(known, target) != target or (taken and known != target):
            raise ValueError(f"{alias!r} already means {self.resolve(alias)!r}, not {subject!r}")
        if known != target:
            self._aliases[known] = target

    def to_plain(self) -> dict[str, Any]:
        """Plain data that `from_plain` reads back."""
        return {"speakers": list(self._speakers.values()), "user": self._user, "aliases": dict(self._aliases)}

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> SubjectRegistry:
        """The registry that `to_plain` wrote."""
        registry = cls(plain["speakers"], user=plain["user"])
        registry._aliases.update(plain["aliases"])
        return registry
