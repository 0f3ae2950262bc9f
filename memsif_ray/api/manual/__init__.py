"""The manual at `/docs`: Swagger UI over the OpenAPI document, from this server alone.

FastAPI's own page loads Swagger UI from a content delivery network. Here its files come from the wheel
`fastapi-offline`, so the manual works without a network, and nobody learns who reads it.
"""

from __future__ import annotations

from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from memsif_ray.api.pages import Page

PAGE = Path(__file__).parent / "page"

# Swagger UI styles elements one by one, and has its icons in its style sheet.
_POLICY = "style-src 'self' 'unsafe-inline'; img-src 'self' data:"


def mount_manual(app: FastAPI) -> None:
    """Serve the page at `/docs`, and its files below."""
    files = Page(PAGE, _POLICY, packages=[("fastapi_offline", "static")])

    async def page(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    app.add_api_route("/docs", page, include_in_schema=False)
    app.mount("/docs", files, name="manual")
