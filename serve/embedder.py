"""Sentence embeddings behind an OpenAI-compatible `/v1/embeddings`, texts of many requests in one batch.

```text
serve run serve.embedder:app                                         all-MiniLM-L6-v2 on the CPU
serve run serve.embedder:app model=qwen3-embedding-0.6b device=cuda  needs a GPU
```
"""

# No `from __future__ import annotations`: Serve reads the builder's annotation to check its arguments.

import asyncio
from collections.abc import Sequence
from typing import Literal

import numpy as np
from fastapi import FastAPI
from pydantic import Field
from ray import serve
from ray.serve import Application

from memsif_ray.clients.embedded.app import create_app
from memsif_ray.clients.embedders import SentenceTransformerEmbedder
from memsif_ray.clients.vectors import distinct_texts, no_vectors
from memsif_ray.config import Strict
from memsif_ray.types import Matrix, Vector

PRESETS = {
    "qwen3-embedding-8b": "Qwen/Qwen3-Embedding-8B",
    "qwen3-embedding-0.6b": "Qwen/Qwen3-Embedding-0.6B",
}
"""Served name and name at the model hub; any other name is its own."""
_BATCH_WAIT_S = 0.005


class EmbedderArgs(Strict):
    """What the application is built from; in YAML the `args` of the application."""

    model: str = Field(
        "all-MiniLM-L6-v2", description="Preset, bundled name, folder or hub name; also the served name"
    )
    device: Literal["cpu", "cuda"] = "cpu"
    batch: int = Field(64, ge=1, description="Texts embedded together")
    min_replicas: int = Field(1, ge=0)
    max_replicas: int = Field(1, ge=1)
    ongoing_per_replica: int = Field(16, ge=1, description="Requests per replica that autoscaling aims at")


class BatchingEmbedder:
    """One replica; implements `Embedder`. Texts that come within milliseconds are embedded together."""

    def __init__(self, args: EmbedderArgs) -> None:
        """Find the model.

        Raises:
            ConfigError: When a bundled model is not installed.
        """
        self.model_id = args.model
        source = PRESETS.get(args.model, args.model)
        self._embedder = SentenceTransformerEmbedder(source, device=args.device)
        self._vectors.set_max_batch_size(args.batch)  # type: ignore[attr-defined]  # of `serve.batch`

    async def __serve_build_asgi_app__(self) -> FastAPI:  # noqa: D105 - called by Serve, once
        await self.embed(["loaded now, and not with the first request"])
        return create_app(None, self)

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors, shape (len(texts), dim).

        Raises:
            ValueError: On a blank text; found here, since in a batch it would spoil the others' too.
        """
        unique, rows = distinct_texts(texts)
        if not unique:
            return no_vectors(None)
        vectors = await asyncio.gather(*map(self._vectors, unique))
        return np.stack(vectors)[rows]

    @serve.batch(batch_wait_timeout_s=_BATCH_WAIT_S)
    async def _vectors(self, texts: list[str]) -> list[Vector]:
        return list(await self._embedder.embed(texts))


def app(args: EmbedderArgs) -> Application:
    """The application: `/v1/embeddings`, `/v1/models`."""
    deployed = serve.deployment(
        name="embedder",
        ray_actor_options={"num_cpus": 0} if args.device == "cpu" else {"num_cpus": 1, "num_gpus": 1},
        autoscaling_config={
            "min_replicas": args.min_replicas,
            "max_replicas": max(args.min_replicas, args.max_replicas),
            "target_ongoing_requests": args.ongoing_per_replica,
        },
        max_ongoing_requests=4 * args.ongoing_per_replica,
    )(serve.ingress()(BatchingEmbedder))
    application: Application = deployed.bind(args)
    return application
