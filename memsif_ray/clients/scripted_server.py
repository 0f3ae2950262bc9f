"""A real local HTTP endpoint with a fixed speed, a fixed capacity and faults on demand."""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections import Counter
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import uvicorn
from fastapi import FastAPI
from fastapi.responses import JSONResponse, Response
from starlette.types import Receive, Scope, Send

from memsif_ray.clients.scripted import HashEmbedder, Script, reasonable
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.types import ChatRequest


@dataclass(frozen=True)
class Fault:
    """What goes wrong with one chat request.

    Attributes:
        status: HTTP status; 200 answers as usual (after `hang_s`).
        code: The error's `code`, e.g. `context_length_exceeded`.
        message: The error's text.
        retry_after: Value of the Retry-After header: seconds or an HTTP date.
        hang_s: Silence before anything is sent.
        drop: The connection closes in the middle of the reply.
        null_content: A reply whose content is null and whose `reasoning` holds this text.
        raw: Sent instead of a reply: as JSON when it starts with a brace, else as HTML.
    """

    status: int = 200
    code: str | None = None
    message: str = "scripted fault"
    retry_after: str | None = None
    hang_s: float = 0.0
    drop: bool = False
    null_content: str | None = None
    raw: str | None = None


FaultScript: TypeAlias = Callable[[int, dict[str, Any]], Fault | None]
"""Arrival number of the chat request (from 0) and its body → what goes wrong, None for nothing."""


def in_order(*faults: Fault | None) -> FaultScript:
    """The first request gets the first fault, and so on; then all is well."""
    return lambda arrival, body: faults[arrival] if arrival < len(faults) else None


@dataclass
class ScriptedServer:
    """A running server and what it saw.

    Attributes:
        base_url: To be given to a client, ends in `/v1`.
        requests: Number of requests per path.
        arrivals: `time.monotonic()` of each chat request.
        bodies: Body of each chat request.
        max_open: Most chat requests open at a time, those that queue included.
        max_busy: Most chat requests worked on at a time; never above the capacity.
    """

    base_url: str
    requests: Counter[str] = field(default_factory=Counter)
    arrivals: list[float] = field(default_factory=list)
    bodies: list[dict[str, Any]] = field(default_factory=list)
    max_open: int = 0
    max_busy: int = 0


@contextmanager
def scripted_server(
    script: Script = reasonable,
    *,
    faults: FaultScript | None = None,
    latency_s: float = 0.0,
    capacity: int = 64,
    model: str = "scripted",
) -> Iterator[ScriptedServer]:
    """Serve `/v1/chat/completions`, `/v1/embeddings`, `/v1/models` and `/tokenize` on a free local port.

    Args:
        script: What the model says.
        faults: What goes wrong; None = nothing.
        latency_s: Time each chat request takes.
        capacity: Chat requests worked on at a time; the others queue.
        model: The served name.
    """
    listening = socket.create_server(("127.0.0.1", 0))
    state = ScriptedServer(f"http://127.0.0.1:{listening.getsockname()[1]}/v1")
    chat = _Chat(state, script, faults or in_order(), latency_s=latency_s, capacity=capacity, model=model)
    server = uvicorn.Server(uvicorn.Config(_app(chat), log_level="critical", lifespan="off"))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    try:
        while not server.started:
            time.sleep(0.005)
        yield state
    finally:
        server.should_exit = server.force_exit = True  # do not wait for requests that hang on purpose
        thread.join()
        listening.close()


def _app(chat: _Chat) -> FastAPI:
    app = FastAPI()
    counter, embedder = EstimatingCounter(), HashEmbedder()
    seen = chat.state.requests

    @app.post("/v1/chat/completions")
    async def completions(body: dict[str, Any]) -> Response:
        seen["/v1/chat/completions"] += 1
        return await chat.answer(body)

    @app.post("/v1/embeddings")
    async def embeddings(body: dict[str, Any]) -> Response:
        seen["/v1/embeddings"] += 1
        texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
        rows = enumerate((await embedder.embed(texts)).tolist())
        data = [{"object": "embedding", "index": index, "embedding": vector} for index, vector in rows]
        tokens = sum(map(counter.count, texts))
        usage = {"prompt_tokens": tokens, "total_tokens": tokens}
        # Not through FastAPI, which would look at every number; this model is to take no time.
        return JSONResponse({"object": "list", "model": body["model"], "data": data, "usage": usage})

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        seen["/v1/models"] += 1
        return {
            "object": "list",
            "data": [{"id": chat.model, "object": "model", "created": 0, "owned_by": "memsif"}],
        }

    @app.post("/tokenize")
    async def tokenize(body: dict[str, Any]) -> dict[str, int]:
        seen["/tokenize"] += 1
        return {"count": counter.count(body["text"])}

    return app


class _Chat:
    """The chat endpoint: counts, queues, waits, fails or answers."""

    def __init__(
        self,
        state: ScriptedServer,
        script: Script,
        faults: FaultScript,
        *,
        latency_s: float,
        capacity: int,
        model: str,
    ) -> None:
        self.state = state
        self.model = model
        self._script = script
        self._faults = faults
        self._latency_s = latency_s
        self._slots = asyncio.Semaphore(capacity)
        self._open = 0
        self._busy = 0

    async def answer(self, body: dict[str, Any]) -> Response:
        fault = self._faults(len(self.state.bodies), body) or Fault()
        self.state.arrivals.append(time.monotonic())
        self.state.bodies.append(body)
        async with self._worked_on():
            await asyncio.sleep(self._latency_s + fault.hang_s)
            if fault.status != 200:
                return _refused(fault)
            if fault.drop:
                return _Dropped()
            if fault.raw is not None:
                kind = "application/json" if fault.raw.startswith("{") else "text/html"
                return Response(fault.raw, media_type=kind)
            return JSONResponse(self._completion(body, fault))

    @asynccontextmanager
    async def _worked_on(self) -> AsyncIterator[None]:
        self._open += 1
        self.state.max_open = max(self.state.max_open, self._open)
        try:
            async with self._slots:
                self._busy += 1
                self.state.max_busy = max(self.state.max_busy, self._busy)
                try:
                    yield
                finally:
                    self._busy -= 1
        finally:
            self._open -= 1

    def _completion(self, body: dict[str, Any], fault: Fault) -> dict[str, Any]:
        content = None if fault.null_content is not None else self._script(_request(body))
        if isinstance(content, Exception):
            raise content
        message = {"role": "assistant", "content": content, "reasoning": fault.null_content}
        counter = EstimatingCounter()
        prompt = sum(counter.count(sent["content"]) for sent in body["messages"])
        completion = counter.count(content or "")
        return {
            "id": f"chatcmpl-{len(self.state.bodies)}",
            "object": "chat.completion",
            "created": 0,
            "model": self.model,
            "choices": [
                {"index": 0, "message": message, "finish_reason": "length" if content is None else "stop"}
            ],
            "usage": {
                "prompt_tokens": prompt,
                "completion_tokens": completion,
                "total_tokens": prompt + completion,
            },
        }


def _request(body: dict[str, Any]) -> ChatRequest:
    said = {message["role"]: message["content"] for message in body["messages"]}
    wanted = body.get("response_format", {}).get("json_schema", {})
    return ChatRequest(
        stage=wanted.get("name", ""),
        system=said.get("system", ""),
        user=said["user"],
        max_tokens=body.get("max_tokens", 0),
        temperature=body.get("temperature", 0.0),
        seed=body.get("seed", 0),
        schema=wanted.get("schema"),
    )


def _refused(fault: Fault) -> JSONResponse:
    error = {"message": fault.message, "type": "scripted", "param": None, "code": fault.code}
    headers = {} if fault.retry_after is None else {"Retry-After": fault.retry_after}
    return JSONResponse({"error": error}, status_code=fault.status, headers=headers)


class _Dropped(Response):
    """Promises more bytes than it sends; the server then has to cut the connection."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [(b"content-type", b"application/json"), (b"content-length", b"1000")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": b'{"id":', "more_body": True})
