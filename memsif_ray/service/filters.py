"""Which facts and messages a search asks for, whatever they say."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from memsif_ray.service.intake import local
from memsif_ray.service.models import SearchRequest
from memsif_ray.service.store import StoredMessage
from memsif_ray.types import Fact, Message

_SPOKEN = frozenset({"message", "evidence"})
"""Types of results that are messages."""


class Sieve:
    """Lets through what a search asks for by type, time and metadata.

    Args:
        request: The search.
        known: All messages of the conversation by id.
    """

    def __init__(self, request: SearchRequest, known: Mapping[str, StoredMessage]) -> None:
        """Look up which messages have the metadata."""
        self._types = frozenset(request.types)
        self._until = request.as_of and local(request.as_of)
        self._sources = _with_metadata(request.filters, known) if request.filters else None
        asked = bool(self._types & _SPOKEN)
        self.messages = asked or not (self._types or request.valid_at)
        self.facts = not (asked and self._types <= _SPOKEN)

    @property
    def every_fact(self) -> bool:
        """Does any fact of the asked time pass?"""
        return not self._types and self._sources is None

    @property
    def every_message(self) -> bool:
        """Does any message pass?"""
        return self._until is None and self._sources is None

    def fact(self, fact: Fact) -> bool:
        """Is it of an asked type, and does it rest on asked messages alone?"""
        typed = not self._types or bool({fact.track.value, fact.type} & self._types)
        if self._sources is None or not typed:
            return typed
        return bool(fact.message_ids) and self._sources.issuperset(fact.message_ids)

    def message(self, message: Message) -> bool:
        """Was it said by then, with the asked metadata?"""
        in_time = self._until is None or message.timestamp <= self._until
        return in_time and (self._sources is None or message.message_id in self._sources)


def _with_metadata(asked: Mapping[str, Any], known: Mapping[str, StoredMessage]) -> frozenset[str]:
    return frozenset(
        message.message_id
        for message in known.values()
        if all(key in message.metadata and _same(message.metadata[key], asked[key]) for key in asked)
    )


def _same(one: Any, other: Any) -> bool:
    """Equal as JSON, where true is not 1."""
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
