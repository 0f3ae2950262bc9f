"""The inspector: a page that shows what memory holds and why, and changes nothing.

Hand-written HTML, CSS and ES modules without a build step. It speaks only the public API, from its own
origin; the headers below keep it that way in the browser, whatever a message contains.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import RedirectResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

PAGE = Path(__file__).parent / "page"

HEADERS = {
    # Trusted types make the browser itself refuse text as markup (`innerHTML`).
    "Content-Security-Policy": (
        "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "Cache-Control": "no-cache",  # asks again, and gets 304: a page and its modules are of one version
}


class _Page(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(HEADERS)
        return response


def mount_inspector(app: FastAPI) -> None:
    """Serve the page at `/inspector/`, and send there whoever leaves out the last slash."""
    app.add_api_route("/inspector", _to_the_page, include_in_schema=False)
    app.mount("/inspector", _Page(directory=PAGE, html=True), name="inspector")


async def _to_the_page() -> Response:
    # Relative, so that it also holds below the prefix of a proxy.
    return RedirectResponse("inspector/", status_code=308)
