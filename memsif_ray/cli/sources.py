"""Files of messages and exported conversations, as people have them."""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from memsif_ray.errors import DataError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from memsif_ray.service.models import Bundle, MessageIn

STDIN = "-"
"""Stands for standard input, or standard output."""


def messages_in(source: str) -> list[MessageIn]:
    """Messages of a file, in any customary form.

    Those without an id get one from their text and place, so that a file that is read again brings the same
    messages. From standard input they come as they are: nobody can read that again.

    Raises:
        DataError: Naming the file and the place in it.
    """
    found = _messages(_text(source), source)
    return found if source == STDIN else [_identified(m, place) for place, m in enumerate(found)]


def bundle_in(source: str) -> Bundle:
    """An exported conversation.

    Raises:
        DataError: When it is none.
    """
    from pydantic import ValidationError

    from memsif_ray.service.models import Bundle

    try:
        return Bundle.model_validate_json(_text(source))
    except ValidationError as exc:
        raise DataError(f"{source} is no exported conversation: {exc.errors()[0]['msg']}") from exc


def _text(source: str) -> str:
    try:
        raw = sys.stdin.buffer.read() if source == STDIN else Path(source).read_bytes()
        return raw.decode("utf-8-sig")
    except OSError as exc:
        raise DataError(f"{source}: {exc.strerror}") from exc
    except UnicodeDecodeError as exc:
        raise DataError(f"{source}: not UTF-8 at byte {exc.start}") from exc


def _messages(text: str, source: str) -> list[MessageIn]:
    try:
        document = json.loads(text)
    except ValueError:
        document = None
    if isinstance(document, dict):
        document = document.get("messages", [document])
    found = document if isinstance(document, list) else list(_lines(text, source))
    if not found:
        raise DataError(f"{source}: no messages")
    return [_message(given, f"{source}: message {place}") for place, given in enumerate(found)]


def _message(given: Any, where: str) -> MessageIn:
    from memsif_ray.service.arguments import BadArgument, checked
    from memsif_ray.service.models import MessageIn

    fields = {"content": given} if isinstance(given, str) else given
    if not isinstance(fields, dict):
        raise DataError(f"{where} is neither a text nor an object")
    try:
        return checked(MessageIn, **fields)
    except BadArgument as exc:
        raise DataError(f"{where}: {exc}") from exc


def _lines(text: str, source: str) -> Iterator[str | dict[str, Any]]:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    as_objects = bool(lines) and lines[0][1].lstrip().startswith("{")
    for number, line in lines:
        try:
            yield json.loads(line) if as_objects else line
        except ValueError as exc:
            raise DataError(f"{source}, line {number}: {exc}") from exc


def _identified(message: MessageIn, place: int) -> MessageIn:
    if message.id is not None:
        return message
    digest = hashlib.sha256(message.model_dump_json().encode()).hexdigest()[:16]
    return message.model_copy(update={"id": f"line_{place}_{digest}"})
