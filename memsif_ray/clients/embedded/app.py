"""The embedded engine and an embedder behind OpenAI's HTTP interface."""

from __future__ import annotations

import asyncio
import base64
import json
import time
import uuid
from collections.abc import Coroutine, Iterator
from typing import Any, Literal, TypeVar

import numpy as np
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, StreamingResponse
from pydantic import BaseModel, Field

from memsif_ray.clients.embedded.engine import Completion, Engine
from memsif_ray.errors import RequestRefused, ServiceBusy, ServiceError
from memsif_ray.ports import Embedder

T = TypeVar("T")

_QUEUE_FULL = "queue_full"
_CLIENT_CLOSED_REQUEST = 499


class ChatMessage(BaseModel):
    """One turn."""

    role: Literal["system", "user", "assistant"]
    content: str


class JsonSchema(BaseModel):
    """The schema inside a response format."""

    schema_: dict[str, Any] = Field(alias="schema")


class ResponseFormat(BaseModel):
    """OpenAI's `response_format`."""

    type: Literal["text", "json_object", "json_schema"] = "text"
    json_schema: JsonSchema | None = None

    def schema_wanted(self) -> dict[str, Any] | None:
        """The schema that a reply must obey; None for free text.

        Raises:
            RequestRefused: When `json_schema` is announced but not there.
        """
        if self.type == "text":
            return None
        if self.type == "json_object":
            return {"type": "object"}
        if self.json_schema is None:
            raise RequestRefused("response_format: json_schema is missing", "invalid_schema")
        return self.json_schema.schema_


class ChatBody(BaseModel):
    """A chat completion request; fields of other servers, such as `chat_template_kwargs`, are ignored."""

    model: str
    messages: list[ChatMessage] = Field(min_length=1)
    max_tokens: int = Field(512, ge=1)
    temperature: float = Field(0.0, ge=0)
    seed: int = Field(0, ge=0)
    response_format: ResponseFormat = ResponseFormat()
    n: Literal[1] = 1
    stream: bool = False


class EmbeddingBody(BaseModel):
    """An embedding request."""

    model: str
    input: str | list[str]
    encoding_format: Literal["float", "base64"] = "float"


class TokenizeBody(BaseModel):
    """A request to count tokens."""

    text: str


def create_app(engine: Engine | None, embedder: Embedder | None = None) -> FastAPI:
    """The HTTP interface of a started engine, an embedder, or both.

    Args:
        engine: Answers `/v1/chat/completions` and `/tokenize`; None leaves those routes to a 404.
        embedder: Answers `/v1/embeddings`; None leaves that route to a 404.
    """
    app = FastAPI(title="memsif-ray embedded model")
    app.add_exception_handler(ServiceError, _service_error)
    app.add_exception_handler(RequestValidationError, _invalid_request)
    if engine is not None:
        _add_chat(app, engine)
    if embedder is not None:
        _add_embeddings(app, embedder)

    @app.get("/v1/models")
    async def models() -> dict[str, Any]:
        names = [*([engine.model] if engine else []), *([embedder.model_id] if embedder else [])]
        return {"object": "list", "data": [{"id": n, "object": "model", "owned_by": "local"} for n in names]}

    @app.get("/health")
    async def health() -> JSONResponse:
        ready = engine is None or engine.ready
        return JSONResponse({"ready": ready}, status_code=200 if ready else 503)

    return app


def _add_chat(app: FastAPI, engine: Engine) -> None:
    @app.post("/v1/chat/completions", response_model=None)
    async def chat(body: ChatBody, request: Request) -> dict[str, Any] | StreamingResponse:
        _check_model(body.model, engine.model)
        completion = await _while_connected(
            request,
            engine.generate(
                [message.model_dump() for message in body.messages],
                body.max_tokens,
                temperature=body.temperature,
                seed=body.seed,
                json_schema=body.response_format.schema_wanted(),
            ),
        )
        whole = _chat_completion(engine.model, completion)
        return StreamingResponse(_chunks(whole), media_type="text/event-stream") if body.stream else whole

    @app.post("/tokenize")
    async def tokenize(body: TokenizeBody) -> dict[str, int]:
        return {"count": engine.count_tokens(body.text)}


def _add_embeddings(app: FastAPI, embedder: Embedder) -> None:
    @app.post("/v1/embeddings")
    async def embeddings(body: EmbeddingBody) -> dict[str, Any]:
        _check_model(body.model, embedder.model_id)
        texts = [body.input] if isinstance(body.input, str) else body.input
        try:
            rows = await embedder.embed(texts)
        except ValueError as exc:
            raise RequestRefused(str(exc), "blank_input") from exc
        as_base64 = body.encoding_format == "base64"
        data = [
            {"object": "embedding", "index": index, "embedding": _base64(row) if as_base64 else row.tolist()}
            for index, row in enumerate(rows)
        ]
        return {"object": "list", "model": embedder.model_id, "data": data, "usage": {}}


def _base64(row: np.ndarray) -> str:
    return base64.b64encode(row.astype("<f4").tobytes()).decode()


def _check_model(wanted: str, served: str) -> None:
    if wanted != served:
        raise RequestRefused(f"model {wanted!r} is not served here, {served!r} is", "model_not_found")


def _chat_completion(model: str, completion: Completion) -> dict[str, Any]:
    message = {"role": "assistant", "content": completion.text}
    return {
        "id": f"chatcmpl-{uuid.uuid4().hex}",
        "object": "chat.completion",
        "created": int(time.time()),
        "model": model,
        "choices": [{"index": 0, "message": message, "finish_reason": completion.finish_reason}],
        "usage": {
            "prompt_tokens": completion.prompt_tokens,
            "completion_tokens": completion.completion_tokens,
            "total_tokens": completion.prompt_tokens + completion.completion_tokens,
        },
    }


def _chunks(whole: dict[str, Any]) -> Iterator[str]:
    """A completion for a client that wants a stream: the engine gives it in one piece."""
    choice = whole["choices"][0]
    chunk = {key: whole[key] for key in ("id", "created", "model")} | {"object": "chat.completion.chunk"}
    for delta, reason in ((choice["message"], None), ({}, choice["finish_reason"])):
        piece: dict[str, Any] = {"index": 0, "delta": delta, "finish_reason": reason}
        yield f"data: {json.dumps({**chunk, 'choices': [piece]})}\n\n"
    yield f"data: {json.dumps({**chunk, 'choices': [], 'usage': whole['usage']})}\n\n"
    yield "data: [DONE]\n\n"


async def _while_connected(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of `work`, which is cancelled when the client hangs up: nobody would read the reply."""
    working = asyncio.create_task(work)
    hanging_up = asyncio.create_task(_hang_up(request))
    try:
        await asyncio.wait({working, hanging_up}, return_when=asyncio.FIRST_COMPLETED)
        if working.done():
            return working.result()
        raise RequestRefused("the client closed the connection", "client_closed_request")
    finally:
        working.cancel()
        hanging_up.cancel()


async def _hang_up(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass


async def _service_error(_: Request, exc: Exception) -> JSONResponse:
    assert isinstance(exc, ServiceError)  # registered for this class only
    headers = {"Retry-After": f"{exc.retry_after_s:g}"} if exc.retry_after_s else {}
    kind = "invalid_request_error" if isinstance(exc, RequestRefused) else "server_error"
    return JSONResponse(_error(exc.message, exc.code, kind), status_code=_status(exc), headers=headers)


def _status(exc: ServiceError) -> int:
    by_code = {"model_not_found": 404, "client_closed_request": _CLIENT_CLOSED_REQUEST, _QUEUE_FULL: 429}
    if exc.code in by_code:
        return by_code[exc.code]
    if isinstance(exc, RequestRefused):
        return 400
    return 503 if isinstance(exc, ServiceBusy) else 500


async def _invalid_request(_: Request, exc: Exception) -> JSONResponse:
    assert isinstance(exc, RequestValidationError)  # registered for this class only
    said = "; ".join(f"{'.'.join(map(str, error['loc']))}: {error['msg']}" for error in exc.errors())
    return JSONResponse(_error(said, "invalid_request", "invalid_request_error"), status_code=400)


def _error(message: str, code: str, kind: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": kind, "code": code, "param": None}}
