"""What the domain asks of the world. Adapters in `clients/` and `storage/` obey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol, runtime_checkable

from memsif_ray.types import ChatReply, ChatRequest, Matrix


@runtime_checkable
class ChatModel(Protocol):
    """A chat language model."""

    async def complete(self, request: ChatRequest) -> ChatReply:
        """Answer one request.

        Raises:
            ServiceError: When the endpoint failed for good (retries are the adapter's business).
        """
        ...


@runtime_checkable
class Embedder(Protocol):
    """A sentence embedder with a name and a size."""

    @property
    def model_id(self) -> str:
        """Name stored beside every vector; vectors of two names never mix."""
        ...

    async def embed(self, texts: Sequence[str]) -> Matrix:
        """Unit vectors, shape (len(texts), dim), row i for text i.

        Raises:
            ServiceError: When a vector is missing, not finite, zero or of another size.
            ValueError: On a blank text: callers filter, so that no vector shifts to another text.
        """
        ...


class EntityExtractor(Protocol):
    """Finds the key entities of messages."""

    def extract(self, texts: Sequence[str]) -> list[frozenset[str]]:
        """Case-folded, normalised entity names per text."""
        ...


class TokenCounter(Protocol):
    """Counts tokens as the answer model does, or says that it estimates."""

    exact: bool

    def count(self, text: str) -> int:
        """Number of tokens in `text`; 0 for ""."""
        ...
