"""Files of a page, under headers that keep it in its place."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

_HEADERS = {
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",  # asks again, and gets 304: a page and its modules are of one version
}
_POLICY = "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"


class Page(StaticFiles):
    """A folder's files. A browser loads nothing for them that is not of this server."""

    def __init__(self, directory: Path, policy: str, **more: Any) -> None:
        """Further directives of the policy; `more` is what `StaticFiles` takes."""
        self._headers = {**_HEADERS, "Content-Security-Policy": f"{_POLICY}; {policy}"}
        super().__init__(directory=directory, html=True, **more)

    async def get_response(self, path: str, scope: Scope) -> Response:
        """The file, with the headers."""
        response = await super().get_response(path, scope)
        response.headers.update(self._headers)
        return response
