"""An embedder that remembers."""

from __future__ import annotations

import asyncio
import hashlib
import re
import sqlite3
from collections.abc import Sequence
from contextlib import closing
from itertools import islice
from pathlib import Path

import numpy as np
import platformdirs

from memsif_ray.clients.vectors import batches, check_same_embedder, distinct_texts, no_vectors, unit_rows
from memsif_ray.ports import Embedder
from memsif_ray.types import Matrix, Vector

_SQL_VARIABLES = 500
_LOCK_TIMEOUT_S = 60.0


class CachedEmbedder:
    """Remembers vectors on disk by model and text, for all processes of this machine.

    One SQLite file per model. A connection is opened per call: it costs a tenth of a millisecond, and
    nothing is shared between threads and processes but the file.
    """

    def __init__(self, embedder: Embedder, folder: Path | None = None) -> None:
        """Wrap `embedder`; `folder` None is the user's cache folder."""
        self._embedder = embedder
        folder = folder or Path(platformdirs.user_cache_dir("memsif-ray")) / "embeddings"
        folder.mkdir(parents=True, exist_ok=True)
        self._path = folder / _file_name(embedder.model_id)
        with closing(self._connect()) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS vectors (key BLOB PRIMARY KEY, vector BLOB) WITHOUT ROWID"
            )

    @property
    def model_id(self) -> str:
        """Name of the wrapped embedder."""
        return self._embedder.model_id

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors, shape (len(texts), dim); only texts never seen before reach the embedder.

        Raises:
            EmbedderMismatch: When the embedder's vectors have another size than those remembered.
            ServiceError: As the embedder does; nothing is remembered then.
            ValueError: On a blank text.
        """
        unique, rows = distinct_texts(texts)
        keys = [_key(self.model_id, text) for text in unique]
        known = await asyncio.to_thread(self._read, keys)
        missing = [(key, text) for key, text in zip(keys, unique, strict=True) if key not in known]
        if missing:
            fresh = await self._embedder.embed([text for _, text in missing])
            fresh = unit_rows(fresh, len(missing), None, self.model_id)
            for vector in islice(known.values(), 1):
                check_same_embedder(self.model_id, len(vector), self.model_id, fresh.shape[1])
            new = {key: vector for (key, _), vector in zip(missing, fresh, strict=True)}
            await asyncio.to_thread(self._write, new)
            known |= new
        return np.stack([known[key] for key in keys])[rows] if keys else no_vectors(None)

    def _connect(self) -> sqlite3.Connection:
        return sqlite3.connect(self._path, timeout=_LOCK_TIMEOUT_S)

    def _read(self, keys: list[bytes]) -> dict[bytes, Vector]:
        found: dict[bytes, Vector] = {}
        with closing(self._connect()) as connection:
            for batch in batches(keys, _SQL_VARIABLES):
                marks = ",".join("?" * len(batch))
                rows = connection.execute(f"SELECT key, vector FROM vectors WHERE key IN ({marks})", batch)
                found.update((key, np.frombuffer(vector, dtype="<f4")) for key, vector in rows)
        return found

    def _write(self, vectors: dict[bytes, Vector]) -> None:
        rows = [(key, vector.astype("<f4").tobytes()) for key, vector in vectors.items()]
        with closing(self._connect()) as connection, connection:
            connection.executemany("INSERT OR IGNORE INTO vectors VALUES (?, ?)", rows)


def _key(model: str, text: str) -> bytes:
    return hashlib.sha256(f"{model}\0{text}".encode("utf-8", "surrogatepass")).digest()


def _file_name(model: str) -> str:
    readable = re.sub(r"[^\w.-]+", "-", model)[-60:]
    return f"{readable}-{hashlib.sha256(model.encode()).hexdigest()[:8]}.sqlite"
