"""Lists that are given page by page."""

from __future__ import annotations

from typing import Generic, TypeVar

from memsif_ray.service.models.words import Model

Item = TypeVar("Item")


class Page(Model, Generic[Item]):
    """Some of a list; `next_cursor` asks for what follows, None at the end."""

    results: tuple[Item, ...]
    next_cursor: str | None = None
