"""Lists that come in pages."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter
from pydantic import ValidationError as NotAsExpected

from memsif_ray.api.client.errors import UnexpectedReplyError, ValidationError
from memsif_ray.api.client.flows import Call
from memsif_ray.service.models import Limit, Page

T = TypeVar("T")
_LIMIT: TypeAdapter[int] = TypeAdapter(Limit)


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
        try:
            limit = {} if page_size is None else {"limit": _LIMIT.validate_python(page_size)}
        except NotAsExpected as exc:
            raise ValidationError("page_size: 1 to 1,000", code="invalid_request", param="page_size") from exc
        return cls(Call("GET", path, page, query={**(query or {}), **limit}, repeatable=True))

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
