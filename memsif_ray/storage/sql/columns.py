"""Column types that keep a value as it was given, in both databases, or refuse it."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator

from memsif_ray.errors import DataError
from memsif_ray.text import clean

MAX_IDENTIFIER = 300
"""Two of them, four bytes a character, still fit one index entry of PostgreSQL (2,704 bytes)."""


class Identifier(TypeDecorator[str]):
    """A name to find things by. One that would have to be changed to be stored is refused.

    Cleaning it instead would let two names, say of two tenants, mean the same thing.
    """

    impl = Text().with_variant(Text(collation="C"), "postgresql")  # in the order of code points, as SQLite
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Refuse what a database cannot hold."""
        if value is None:
            return None
        if not value or len(value) > MAX_IDENTIFIER:
            raise DataError(f"an id has between 1 and {MAX_IDENTIFIER} characters")
        if clean(value) != value:
            raise DataError("an id holds neither NUL nor half of a surrogate pair")
        return value


class CleanText(TypeDecorator[str]):
    """What somebody said, as [`clean`][memsif_ray.text.clean] leaves it."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        """Make it valid Unicode without NUL."""
        return None if value is None else clean(value)


class Json(TypeDecorator[Any]):
    """Plain data as JSON text.

    Not a JSON column: PostgreSQL would refuse a NUL or NaN that SQLite takes, and no query looks inside.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str:
        """Readable where that is valid Unicode, else escaped."""
        text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        return text if clean(text) == text else json.dumps(value, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        """Read it back."""
        return None if value is None else json.loads(value)


class Moment(TypeDecorator[datetime]):
    """A point in time, kept in UTC and read with its zone."""

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a time without a zone: nobody could say when it was."""
        if value is None:
            return None
        if value.tzinfo is None:
            raise DataError(f"{value} has no time zone")
        return value.astimezone(UTC)

    def process_result_value(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """SQLite gives the UTC time without saying so."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


class LocalTime(TypeDecorator[datetime]):
    """A speaker's local time: without a zone, and it stays so."""

    impl = DateTime(timezone=False)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """Refuse a zone, which would be lost."""
        if value is not None and value.tzinfo is not None:
            raise DataError(f"{value} has a time zone; a message has the speaker's local time")
        return value
