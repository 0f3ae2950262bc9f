"""OpenAI's embeddings API, over the embedder that memory itself uses."""

from __future__ import annotations

import base64
from typing import Annotated, Any, Literal

from fastapi import Body, Depends, Request
from pydantic import BeforeValidator, Field

from memsif_ray.api.dependencies import CallerOf, MetricsOf, router
from memsif_ray.api.errors import ApiError
from memsif_ray.clients.tokens import EstimatingCounter
from memsif_ray.ports import Embedder
from memsif_ray.service.models import Model, Name, Text, Usage
from memsif_ray.types import Vector

ROUTER = router("Embeddings")
MAX_TEXTS = 256

_TOKENS = EstimatingCounter()
_BODIES = {
    "one text": {"value": {"model": "all-MiniLM-L6-v2", "input": "Where does Amy live?"}},
    "several": {"value": {"model": "all-MiniLM-L6-v2", "input": ["I like tea.", "I moved to Utrecht."]}},
}


class EmbeddingsBody(Model):
    """What is to be embedded, and by which model: the one that this server has."""

    model: Name
    input: Annotated[
        list[Text],
        Field(min_length=1, max_length=MAX_TEXTS),
        BeforeValidator(lambda given: [given] if isinstance(given, str) else given),
    ]
    encoding_format: Literal["float", "base64"] = "float"
    user: Name | None = None


class Embedding(Model):
    """Of the text at `index`: numbers, or little-endian 32-bit floats in base64."""

    object: Literal["embedding"] = "embedding"
    index: int
    embedding: list[float] | str


class EmbeddingUsage(Model):
    """Tokens, estimated: embedders do not count them."""

    prompt_tokens: int
    total_tokens: int


class Embeddings(Model):
    """One unit vector for each text, in the order of the request."""

    object: Literal["list"] = "list"
    data: tuple[Embedding, ...]
    model: str
    usage: EmbeddingUsage


async def _embedder(request: Request) -> Embedder:
    embedder: Embedder = request.app.state.embedder
    return embedder


EmbedderOf = Annotated[Embedder, Depends(_embedder)]


@ROUTER.post("/v1/embeddings", summary="Embed texts as memory does")
async def embeddings(
    body: Annotated[EmbeddingsBody, Body(openapi_examples=_BODIES)],  # type: ignore[arg-type]
    caller: CallerOf,
    metrics: MetricsOf,
    embedder: EmbedderOf,
) -> Embeddings:
    """Unit vectors. Nothing is stored; `404` when `model` is not the embedder of this server."""
    if body.model != embedder.model_id:
        message = f"this server embeds with {embedder.model_id!r}"
        raise ApiError(404, "model_not_found", message, param="model")
    vectors = await embedder.embed(body.input)
    metrics.used(Usage(embedded_texts=len(body.input)))
    tokens = sum(map(_TOKENS.count, body.input))
    return Embeddings(
        data=tuple(
            Embedding(index=i, embedding=_encoded(vector, body.encoding_format))
            for i, vector in enumerate(vectors)
        ),
        model=embedder.model_id,
        usage=EmbeddingUsage(prompt_tokens=tokens, total_tokens=tokens),
    )


def _encoded(vector: Vector, encoding: str) -> Any:
    return vector.tolist() if encoding == "float" else base64.b64encode(vector.astype("<f4").tobytes())
