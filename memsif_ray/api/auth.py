"""Who asks: the credential decides, and nothing else does.

The check is a layer around the whole app, not something that each route remembers: an address is served
without a key only when it is listed here. In development mode (no key store) the same place serves a single
tenant, to this machine alone.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Collection
from urllib.parse import urlsplit

from starlette.datastructures import Headers
from starlette.types import ASGIApp, Receive, Scope, Send

from memsif_ray.api.errors import ApiError, ErrorReply, as_api_error
from memsif_ray.errors import MemsifError
from memsif_ray.logs import request_id
from memsif_ray.service.backend import LOCAL_TENANT, Caller
from memsif_ray.service.keys import KeyRow, KeyStore

PUBLIC = frozenset(
    {"/", "/health/live", "/health/ready", "/metrics", "/version", "/docs", "/openapi.json"}
    | {"/favicon.ico", "/inspector"}
)
"""Served without a key: nothing of a tenant is behind them."""
PUBLIC_BELOW = ("/inspector/", "/docs/")

LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")

_BEARER = re.compile(r"bearer +(?P<secret>[\x21-\x7e]{1,512})", re.IGNORECASE)


def is_public(scope: Scope) -> bool:
    """Whether the address is served without a key."""
    path = address(scope)
    return path in PUBLIC or path.startswith(PUBLIC_BELOW)


def address(scope: Scope) -> str:
    """The path below whatever the app is mounted at."""
    path: str = scope["path"]
    return path.removeprefix(scope.get("root_path", ""))


class Authenticated:
    """Lets a request in when its key is known, and remembers whose it is in `request.state`."""

    def __init__(self, app: ASGIApp, keys: KeyStore | None) -> None:
        """Without `keys` everybody is the developer; see `ThisMachineOnly`."""
        self._app = app
        self._keys = keys

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        if scope["type"] == "http" and not is_public(scope):
            try:
                scope["state"]["key"] = key = await self._key(Headers(scope=scope))
            except ApiError as error:
                await ErrorReply(error)(scope, receive, send)
                return
            except MemsifError as error:
                await ErrorReply(as_api_error(error))(scope, receive, send)
                return
            scope["state"]["caller"] = Caller(
                tenant=key.tenant if key else LOCAL_TENANT,
                key_id=key.key_id if key else "",
                request_id=request_id(),
            )
        await self._app(scope, receive, send)

    async def _key(self, headers: Headers) -> KeyRow | None:
        if self._keys is None:
            return None
        offered = headers.getlist("authorization")
        match = _BEARER.fullmatch(offered[0].strip()) if len(offered) == 1 else None
        row = await self._keys.key_of(match["secret"]) if match else None
        if row is None or row.revoked_at is not None or not row.tenant:
            # One answer for a missing, an unknown and a revoked key: a guesser learns nothing.
            raise ApiError(
                401,
                "invalid_api_key",
                "a valid API key is needed: Authorization: Bearer msk_…",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return row


class ThisMachineOnly:
    """Guards development mode, where there are no keys: the peer, and the names it used, must be local.

    It looks at the socket and not at the address that the server was told to bind: whoever serves the app on
    0.0.0.0 by mistake serves nobody else. A web page in a local browser is a stranger too, so its Origin
    must be local, and the Host header as well (a page may have its own name point to 127.0.0.1).
    """

    def __init__(self, app: ASGIApp) -> None:
        """Wrap `app`."""
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        if scope["type"] in ("http", "websocket") and not _is_local(scope):
            message = "development mode without keys serves this machine only; start the server with keys"
            await ErrorReply(ApiError(403, "local_only", message))(scope, receive, send)
            return
        await self._app(scope, receive, send)


def _is_local(scope: Scope) -> bool:
    headers = Headers(scope=scope)
    # A proxy on this machine makes every peer look local; what it says about them decides then.
    forwarded = [part.strip() for part in headers.get("x-forwarded-for", "").split(",") if part.strip()]
    peer = scope.get("client")
    peers = [peer[0] if peer else "", *forwarded]
    origin = headers.get("origin")
    return (
        "forwarded" not in headers
        and all(map(_is_loopback, peers))
        and (origin is None or (urlsplit(origin).hostname or "") in LOCAL_HOSTS)
    )


def _is_loopback(peer: str) -> bool:
    try:
        found = ipaddress.ip_address(peer)
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback


class KnownHosts:
    """Serves only requests that name one of our hosts, so that no other name can be made to mean us."""

    def __init__(self, app: ASGIApp, hosts: Collection[str]) -> None:
        """`hosts` without ports."""
        self._app = app
        self._hosts = frozenset(host.lower() for host in hosts)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, or hand on."""
        if scope["type"] in ("http", "websocket") and not self._knows(Headers(scope=scope)):
            await ErrorReply(ApiError(400, "unknown_host", "this server has another name"))(
                scope, receive, send
            )
            return
        await self._app(scope, receive, send)

    def _knows(self, headers: Headers) -> bool:
        named = headers.getlist("host")
        try:
            return len(named) == 1 and urlsplit(f"//{named[0]}").hostname in self._hosts
        except ValueError:
            return False
