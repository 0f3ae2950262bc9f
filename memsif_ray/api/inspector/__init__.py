"""The inspector: a page that shows what memory holds and why, and changes nothing.

Hand-written HTML, CSS and ES modules without a build step. It speaks only the public API, from its own
origin; the headers of `Page` keep it that way in the browser, whatever a message contains.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.responses import RedirectResponse, Response

from memsif_ray.api.pages import Page

PAGE = Path(__file__).parent / "page"

# Trusted types make the browser itself refuse text as markup (`innerHTML`).
_POLICY = "require-trusted-types-for 'script'; trusted-types 'none'"


def mount_inspector(app: FastAPI) -> None:
    """Serve the page at `/inspector/`, and send there whoever leaves out the last slash."""
    app.add_api_route("/inspector", _to_the_page, include_in_schema=False)
    app.mount("/inspector", Page(PAGE, _POLICY), name="inspector")


async def _to_the_page() -> Response:
    # Relative, so that it also holds below the prefix of a proxy.
    return RedirectResponse("inspector/", status_code=308)
