"""Parts of a list, with an opaque cursor to the next."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Sequence
from typing import TypeVar

from memsif_ray.errors import DataError
from memsif_ray.service.backend import Paging
from memsif_ray.service.models import Page

Item = TypeVar("Item")


def cursor_of(key: str) -> str:
    """The cursor behind an item of this key."""
    return base64.urlsafe_b64encode(key.encode()).decode("ascii")


def key_of(cursor: str | None) -> str:
    """The key that a cursor stands for; "" at the start.

    Raises:
        DataError: When it is no cursor.
    """
    try:
        return base64.urlsafe_b64decode((cursor or "").encode("ascii")).decode()
    except (ValueError, binascii.Error) as exc:
        raise DataError(f"{cursor!r} is no cursor of an earlier page") from exc


def page(items: Sequence[Item], paging: Paging, key: Callable[[Item], str]) -> Page[Item]:
    """Those behind the cursor. Items must be in the order of their keys, which never changes.

    Raises:
        DataError: When the cursor is none.
    """
    after = key_of(paging.cursor)
    rest = [item for item in items if key(item) > after] if after else list(items)
    shown = tuple(rest[: paging.limit])
    more = len(rest) > len(shown)
    return Page(results=shown, next_cursor=cursor_of(key(shown[-1])) if more else None)
