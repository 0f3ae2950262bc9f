"""Lists that come in pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from memsif_ray.api.client.arguments import page_limit
from memsif_ray.api.client.errors import UnexpectedReplyError
from memsif_ray.api.client.flows import Call
from memsif_ray.service.models import Page

T = TypeVar("T")


@dataclass(frozen=True)
class Listing(Generic[T]):
    """A list on the server, to be read page by page."""

    first: Call[Page[T]]

    @classmethod
    def of(
        cls,
        path: str,
        page: type[Page[T]],
        query: Mapping[str, Any] | None = None,
        page_size: int | None = None,
    ) -> Listing[T]:
        """The list at `path`.

        Raises:
            ValidationError: When `page_size` is out of range.
        """
        asked = {**(query or {}), **page_limit(page_size)}
        return cls(Call("GET", path, page, query=asked, repeatable=True))

    def after(self, call: Call[Page[T]], page: Page[T]) -> Call[Page[T]] | None:
        """The call for what follows `page`, which was the answer to `call`; None at the end.

        Raises:
            UnexpectedReplyError: When the server sends us round in a circle.
        """
        if page.next_cursor is None:
            return None
        if page.next_cursor == call.query.get("cursor"):
            raise UnexpectedReplyError("the server's next page is the same page", code="unexpected_reply")
        return replace(call, query={**call.query, "cursor": page.next_cursor})
