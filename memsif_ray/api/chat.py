"""Memory for any chat client: what is recalled goes in before the model, the turn is remembered after it.

The words are OpenAI's, as plain mappings: fields that we do not know pass through to the model untouched.
"""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, TypeAdapter, ValidationError

from memsif_ray.api.bodies import refuse_tenant
from memsif_ray.api.errors import ApiError
from memsif_ray.errors import Conflict, ServiceError
from memsif_ray.logs import request_id
from memsif_ray.prompts import load
from memsif_ray.service.backend import Backend, Caller
from memsif_ray.service.models import (
    MAX_CONTENT,
    ConversationId,
    IngestRequest,
    MessageIn,
    Model,
    SearchRequest,
    SearchResult,
    Usage,
    cleaned,
)
from memsif_ray.text import is_blank, truncate
from memsif_ray.types import CallScope

LOGGER = logging.getLogger(__name__)

VENDOR_FIELD = "memsif"
"""Of a completion, and of the first chunk of a stream: what memory did."""

_OURS = frozenset({"memory", "metadata", "user", "store"})
"""Fields that are not handed to the model: they name people and conversations."""
_SCOPE: TypeAdapter[str] = TypeAdapter(ConversationId)


class ChatUpstream(Protocol):
    """The chat model that clients talk to, as an OpenAI-compatible endpoint has it.

    All methods raise ServiceError, and end their work when they are cancelled or closed.
    """

    async def models(self) -> Sequence[Mapping[str, Any]]:
        """The `data` of `GET /v1/models`."""
        ...

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """A `chat.completion`."""
        ...

    def stream(self, body: Mapping[str, Any]) -> AsyncIterator[dict[str, Any]]:
        """The `chat.completion.chunk`s of a streamed completion, in order."""
        ...


class ChatMessage(BaseModel):
    """A turn in OpenAI's shape; what else it carries goes to the model."""

    model_config = ConfigDict(frozen=True, extra="allow")

    role: Literal["system", "developer", "user", "assistant", "tool", "function"]
    content: str | list[dict[str, Any]] | None = None

    @property
    def text(self) -> str:
        """What it says; pictures and sounds say nothing here."""
        if isinstance(self.content, list):
            parts = (part.get("text") for part in self.content if part.get("type") == "text")
            return "\n".join(part for part in parts if isinstance(part, str))
        return self.content or ""


class MemoryOptions(Model):
    """What memory is to do; a field of our own beside OpenAI's (`extra_body` of its client).

    Attributes:
        conversation_id: Whose memory; else `metadata.conversation_id`, else `user`.
        remember: Take the turn in afterwards.
        max_tokens: Budget of what is recalled; by default the server's.
    """

    conversation_id: ConversationId | None = None
    remember: bool = True
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] | None = None


class ChatBody(BaseModel):
    """A request in OpenAI's shape; what else it carries goes to the model."""

    model_config = ConfigDict(frozen=True, extra="allow")

    model: Annotated[str, Field(min_length=1, max_length=200)]
    messages: Annotated[list[ChatMessage], Field(min_length=1, max_length=2_000), BeforeValidator(cleaned)]
    stream: bool | None = False
    user: str | None = None
    metadata: dict[str, Any] | None = None
    memory: MemoryOptions = MemoryOptions()

    @property
    def query(self) -> str:
        """What the user said last; "" when nothing can be read of it."""
        said = next((message.text for message in reversed(self.messages) if message.role == "user"), "")
        return "" if is_blank(said) else said

    def conversation_id(self) -> str:
        """Whose memory is meant.

        Raises:
            ApiError: 400 when no conversation is named, or a wildcard; 403 when a tenant is.
        """
        metadata = self.metadata or {}
        refuse_tenant(metadata)
        named = self.memory.conversation_id or metadata.get("conversation_id") or self.user
        try:
            return _SCOPE.validate_python(named)
        except ValidationError:
            where = "memory.conversation_id, metadata.conversation_id or user"
            raise ApiError(
                400, "bad_scope", f"name one conversation in {where}", param="conversation_id"
            ) from None

    def for_model(self, note: str) -> dict[str, Any]:
        """The body to send on, with the note in its system message (some models take only one)."""
        body = self.model_dump(mode="json", exclude=set(_OURS), exclude_unset=True)
        messages = body["messages"]
        if not note:
            return body
        first = messages[0]
        if first["role"] in ("system", "developer") and isinstance(first["content"], str):
            messages[0] = {**first, "content": f"{first['content']}\n\n{note}"}
        else:
            messages.insert(0, {"role": "system", "content": note})
        return body


@dataclass(frozen=True, slots=True)
class Recalled:
    """What memory showed for a turn, and the work of finding it."""

    ids: tuple[str, ...] = ()
    note: str = ""
    usage: Usage = Usage()

    @classmethod
    def of(cls, found: SearchResult) -> Recalled:
        """As a system note; an empty one when nothing was found."""
        if not found.results:
            return cls(usage=found.usage)
        notes = [result.text for result in found.results]
        request = load("chat/recall").request(stage="recall", scope=CallScope(), max_tokens=0, notes=notes)
        note = f"{request.system}\n{request.user}"
        return cls(tuple(result.id for result in found.results), note, found.usage)


@dataclass(frozen=True, slots=True)
class Turn:
    """One exchange of a chat, and the memory it belongs to."""

    backend: Backend
    caller: Caller
    body: ChatBody
    conversation_id: str
    once: str | None

    async def recall(self, *, max_tokens: int) -> Recalled:
        """What memory knows about what the user said."""
        if not self.body.query:
            return Recalled()
        found = await self.backend.search(
            self.caller,
            SearchRequest(
                conversation_id=self.conversation_id,
                query=truncate(self.body.query, MAX_CONTENT),
                max_tokens=self.body.memory.max_tokens or max_tokens,
            ),
        )
        return Recalled.of(found)

    async def remember(self, reply: str) -> str | None:
        """Take in what the user said and what the model replied, once.

        The reply is an assistant's turn: an echo of what memory showed, and no evidence of its own.

        Returns:
            The operation's id; None when nothing was taken in, because the client does not want it, it was
            taken in before, or memory does not answer (the reply is worth more than an error then).
        """
        messages = self._messages(reply)
        if not messages or not self.body.memory.remember:
            return None
        request = IngestRequest(conversation_id=self.conversation_id, messages=messages)
        try:
            return (await self.backend.ingest(self.caller, request)).id
        except Conflict:
            # The same turn with another reply: a client that tries again, or wants a better one.
            return None
        except ServiceError as error:
            LOGGER.warning("a turn was not remembered", extra={"error_code": error.code})
            return None

    def _messages(self, reply: str) -> list[MessageIn]:
        last = self.body.messages[-1]
        turn_id = self._turn_id()
        said = [("user", last.text)] if last.role == "user" else []
        return [
            MessageIn(content=piece, role=role, id=f"{turn_id}_{role}{number or ''}")
            for role, text in [*said, ("assistant", reply)]
            for number, piece in enumerate(_pieces(text))
        ]

    def _turn_id(self) -> str:
        """The same whenever the same turn is sent again, so that it is remembered once.

        A client that sends the dialogue so far tells its turns apart by that. One that sends its newest
        message only may mean the same words twice, so there every request is a turn of its own, unless an
        `Idempotency-Key` says otherwise.
        """
        dialogue = [message for message in self.body.messages if message.role not in ("system", "developer")]
        told = [(message.role, message.text) for message in dialogue]
        mark = self.once or (request_id() if len(dialogue) == 1 else "")
        content = json.dumps([self.conversation_id, mark, told], ensure_ascii=True)
        return f"chat_{hashlib.sha256(content.encode()).hexdigest()[:32]}"


def _pieces(text: str) -> list[str]:
    """A text in parts that a message may hold, none of them blank."""
    text = cleaned(text)
    pieces = []
    while text:
        piece = truncate(text, MAX_CONTENT) or text[:MAX_CONTENT]
        pieces.append(piece)
        text = text[len(piece) :]
    return [piece for piece in pieces if not is_blank(piece)]
