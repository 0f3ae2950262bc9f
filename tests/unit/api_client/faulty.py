"""A real HTTP server in a thread that misbehaves as told, and remembers what it was asked."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

OPERATION = {
    "id": "op_1",
    "kind": "ingest",
    "conversation_id": "amy",
    "status": "done",
    "created_at": "2024-05-20T18:00:00Z",
    "updated_at": "2024-05-20T18:00:00Z",
    "accepted": 1,
}


@dataclass(frozen=True)
class Act:
    """One reply: a status with a body and headers, after a silence; or a connection that breaks."""

    status: int = 200
    body: Any = field(default_factory=lambda: dict(OPERATION))
    headers: dict[str, str] = field(default_factory=dict)
    hang_s: float = 0.0
    drop: bool = False
    trickle_s: float = 0.0


@dataclass(frozen=True)
class Asked:
    """One request as it arrived."""

    method: str
    url: str
    headers: dict[str, str]
    body: bytes
    at: float


@dataclass
class FaultyServer:
    """What it will do, request by request (then all is well), and what it was asked."""

    url: str
    acts: list[Act] = field(default_factory=list)
    asked: list[Asked] = field(default_factory=list)


def error(status: int, code: str = "busy", **headers: str) -> Act:
    body = {
        "error": {"type": "x", "code": code, "message": f"told {code}", "param": None, "request_id": "r9"}
    }
    return Act(status, body, {name.replace("_", "-"): value for name, value in headers.items()})


def make_faulty_app(server: FaultyServer) -> ASGIApp:
    app = FastAPI()

    @app.api_route("/{path:path}", methods=["GET", "POST", "PATCH", "DELETE"])
    async def anything(request: Request) -> Response:
        body = await request.body()
        path = request.url.path + (f"?{request.url.query}" if request.url.query else "")
        server.asked.append(Asked(request.method, path, dict(request.headers), body, time.monotonic()))
        act = server.acts.pop(0) if server.acts else Act()
        await asyncio.sleep(act.hang_s)
        if act.drop:
            return _Dropped()
        if act.trickle_s:
            return _Trickled(act.trickle_s)
        if isinstance(act.body, str):
            return Response(act.body, act.status, act.headers, "text/html")
        from fastapi.responses import JSONResponse

        return JSONResponse(act.body, act.status, act.headers)

    return app


class _Dropped(Response):
    """Announces more than it sends."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": [(b"content-length", b"99")]})
        await send({"type": "http.response.body", "body": b"{", "more_body": True})
        raise asyncio.CancelledError


class _Trickled(Response):
    """Sends a byte now and then, so that no silence is ever long."""

    def __init__(self, pause_s: float) -> None:
        super().__init__()
        self._pause_s = pause_s

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        for _ in range(200):
            await asyncio.sleep(self._pause_s)
            await send({"type": "http.response.body", "body": b" ", "more_body": True})
        await send({"type": "http.response.body", "body": b"{}"})


@contextmanager
def served(app: ASGIApp) -> Iterator[str]:
    """The app on a free port of this machine, in a thread."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        free.listen()
        server = uvicorn.Server(uvicorn.Config(app, log_level="critical", timeout_graceful_shutdown=1))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [free]}, daemon=True)
        thread.start()
        while not server.started:
            time.sleep(0.01)
        try:
            yield f"http://127.0.0.1:{free.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join()


@contextmanager
def faulty_server(*acts: Act) -> Iterator[FaultyServer]:
    server = FaultyServer("", list(acts))
    with served(make_faulty_app(server)) as url:
        server.url = url
        yield server
