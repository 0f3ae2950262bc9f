"""`Memory`: the verbs of a client, over a service in the same process."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self

from memsif_ray.config import EmbedderConfig, MemoryConfig, ModelConfig
from memsif_ray.errors import ConfigError
from memsif_ray.library.blocking import ME, BlockingService
from memsif_ray.library.opening import Recipe, opened
from memsif_ray.memory.tools import Tools
from memsif_ray.service import models
from memsif_ray.service.arguments import UNSET, Messages, Unset, checked, given, listed
from memsif_ray.service.conversations import Conversations
from memsif_ray.service.settings import ServiceConfig
from memsif_ray.storage.sql.location import file_url

DEFAULT_CONVERSATION = "memory"
_IN_MEMORY = "sqlite://"
_PAGE = 100


class Memory:
    """Memory in this process, with the verbs and results of `memsif_ray.Client`, and no server.

    It blocks, threads may share it, and everything it acknowledges is in its store. Use it as a context
    manager, or call `close`. A conversation that is not named is called "memory".

    Errors are those of `memsif_ray.errors`: DataError for an argument that cannot be meant, NotFound,
    Conflict, and ServiceError when a model or the store failed.

    Args:
        path: SQLite file that keeps memories, made if need be. `memsif serve` can serve it later.
        store: URL of a database instead, e.g. `postgresql://user@host/name`. With neither, memories are gone
            when this is closed.
        model: Chat model; by default the embedded one, which the first call that needs it starts.
        embedder: By default the bundled all-MiniLM-L6-v2.
        config: What memory is made of.
        router: Trained router behind the packing policy `auto`.
        tools: Ready-made ports instead of `model` and `embedder`, e.g. scripted ones.

    Raises:
        ConfigError: When the store, the embedder or the router cannot be used.
    """

    def __init__(
        self,
        *,
        path: str | Path | None = None,
        store: str | None = None,
        model: ModelConfig | None = None,
        embedder: EmbedderConfig | None = None,
        config: MemoryConfig | None = None,
        router: Path | None = None,
        tools: Tools | None = None,
    ) -> None:
        """Open the store. The first start ever of the embedded model prepares its weights (a minute)."""
        recipe = Recipe(
            url=_url(path, store),
            service=ServiceConfig(memory=config or MemoryConfig(), router=router),
            model=model or ModelConfig(),
            embedder=embedder or EmbedderConfig(),
            tools=tools,
        )
        self._service = BlockingService(opened(recipe))

    # -- telling and asking

    def add(
        self,
        messages: Messages,
        *,
        conversation_id: str = DEFAULT_CONVERSATION,
        wait: bool = True,
        dry_run: bool = False,
        idempotency_key: str | None = None,
    ) -> models.Operation:
        """Remember messages, in order; a known id is not added again.

        Args:
            messages: A text, a mapping with `content` (and `name`, `role`, `timestamp`, `id`, `session`,
                `metadata`), a `MessageIn`, or several of them.
            conversation_id: Whose memory.
            wait: Return when they are digested, instead of when they are stored.
            dry_run: Store nothing; say what would be accepted and, with `wait`, which facts would be written.
            idempotency_key: The same key and request again change nothing.

        Returns:
            With the status `failed` when a model failed: the messages are stored, and are digested together
            with the next.
        """
        request = checked(
            models.IngestRequest,
            conversation_id=conversation_id,
            messages=listed(messages),
            wait=wait,
            dry_run=dry_run,
        )
        return self._service.run(Conversations.ingest, request, idempotency_key=idempotency_key)

    def search(
        self,
        query: str,
        *,
        conversation_id: str = DEFAULT_CONVERSATION,
        top_k: int | None = None,
        max_tokens: int | None = None,
        types: Collection[str] = (),
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        filters: Mapping[str, Any] | None = None,
        consolidation: models.Policy | None = None,
        include: Collection[Literal["provenance", "trace"]] = (),
    ) -> models.SearchResult:
        """What memory has to say, best first; changes nothing. See `SearchRequest` for the arguments."""
        request = checked(
            models.SearchRequest,
            conversation_id=conversation_id,
            query=query,
            top_k=top_k,
            max_tokens=max_tokens,
            types=tuple(types),
            as_of=as_of,
            valid_at=valid_at,
            filters=dict(filters or {}),
            consolidation=consolidation,
            include=frozenset(include),
        )
        return self._service.run(Conversations.search, request)

    def answer(
        self,
        question: str,
        *,
        conversation_id: str = DEFAULT_CONVERSATION,
        learn: bool = True,
        asked_at: datetime | None = None,
        max_tokens: int | None = None,
        consolidation: models.Policy | None = None,
    ) -> models.AnswerResult:
        """Answer from memory.

        Args:
            question: In plain words.
            conversation_id: Whose memory.
            learn: Let the question's evidence grow into ActiveFacts; False leaves memory as it is.
            asked_at: For relative dates; by default now.
            max_tokens: Budget of the evidence shown to the model.
            consolidation: What to do with notes that exceed `max_tokens`.
        """
        request = checked(
            models.AnswerRequest,
            conversation_id=conversation_id,
            question=question,
            learn=learn,
            asked_at=asked_at,
            max_tokens=max_tokens,
            consolidation=consolidation,
        )
        return self._service.run(Conversations.answer, request)

    # -- single memories

    def get(self, memory_id: str) -> models.Memory:
        """One memory in its latest version."""
        return self._service.run(Conversations.memory, memory_id)

    def update(
        self,
        memory_id: str,
        text: str | Unset = UNSET,
        *,
        valid_from: datetime | None | Unset = UNSET,
        valid_to: datetime | None | Unset = UNSET,
        if_version: int | None = None,
    ) -> models.Memory:
        """Correct a memory; the earlier version stays in its history.

        Args:
            memory_id: Which.
            text: The new text.
            valid_from: Since when it holds; None takes the date away.
            valid_to: Until when it held; None takes the date away.
            if_version: Fail with Conflict when somebody else has changed it since this version.
        """
        change = checked(models.MemoryChange, **given(text=text, valid_from=valid_from, valid_to=valid_to))
        return self._service.run(Conversations.change, memory_id, change, if_version=if_version)

    def supersede(self, memory_id: str, text: str, *, valid_from: datetime | None = None) -> models.Memory:
        """Replace a memory that is no longer true; returns the new one."""
        successor = checked(models.Successor, text=text, valid_from=valid_from)
        return self._service.run(Conversations.supersede, memory_id, successor)

    def delete(self, memory_id: str) -> models.Memory:
        """Take a memory out of use; its history remains, and `restore` brings it back. See also `erase`."""
        return self._service.run(Conversations.retract, memory_id)

    def restore(self, memory_id: str) -> models.Memory:
        """Put a deleted memory back into use."""
        return self._service.run(Conversations.restore, memory_id)

    def erase(self, memory_id: str, *, dry_run: bool = False) -> models.Erased:
        """Remove every version of a memory for good; the messages it came from remain."""
        return self._service.run(Conversations.erase_memory, memory_id, dry_run=dry_run)

    def history(self, memory_id: str) -> Iterator[models.HistoryEntry]:
        """All operations on a memory, oldest first."""
        return iter(self._service.run(Conversations.history, memory_id))

    def provenance(self, memory_id: str) -> models.Provenance:
        """Why a memory is there, down to the messages."""
        return self._service.run(Conversations.provenance, memory_id)

    # -- whole conversations

    def list(
        self,
        conversation_id: str = DEFAULT_CONVERSATION,
        *,
        track: Literal["core", "active"] | None = None,
        type: str | None = None,
        status: Literal["active", "all"] | None = None,
        as_of: datetime | None = None,
        valid_at: datetime | None = None,
        page_size: int = _PAGE,
    ) -> Iterator[models.Memory]:
        """All memories of a conversation, read page by page.

        Args:
            conversation_id: Whose memory.
            track: `core` or `active`; None = both.
            type: CoreFact type.
            status: `all` also gives what was retracted or replaced.
            as_of: As believed then.
            valid_at: As true then.
            page_size: How many to read at once.
        """
        return self._service.items(
            lambda on, part: on.memories(
                ME,
                conversation_id,
                part,
                track=track,
                type=type,
                status=status or "active",
                as_of=as_of,
                valid_at=valid_at,
            ),
            page_size,
        )

    def segments(
        self, conversation_id: str = DEFAULT_CONVERSATION, *, page_size: int = _PAGE
    ) -> Iterator[models.SegmentOut]:
        """Topical Segments of a conversation, in order."""
        return self._service.items(lambda on, part: on.segments(ME, conversation_id, part), page_size)

    def trajectories(
        self, conversation_id: str = DEFAULT_CONVERSATION, *, page_size: int = _PAGE
    ) -> Iterator[models.TrajectoryOut]:
        """Event Trajectories of a conversation, by id."""
        return self._service.items(lambda on, part: on.trajectories(ME, conversation_id, part), page_size)

    def candidates(
        self, conversation_id: str = DEFAULT_CONVERSATION, *, page_size: int = _PAGE
    ) -> Iterator[models.Candidate]:
        """Candidate clusters of a conversation with their scores, by id, promoted ones included."""
        return self._service.items(lambda on, part: on.candidates(ME, conversation_id, part), page_size)

    def messages(
        self, conversation_id: str = DEFAULT_CONVERSATION, *, page_size: int = _PAGE
    ) -> Iterator[models.SourceMessage]:
        """Messages of a conversation, in order."""
        return self._service.items(lambda on, part: on.messages(ME, conversation_id, part), page_size)

    def conversations(self, *, page_size: int = _PAGE) -> Iterator[models.ConversationOut]:
        """All conversations, by id."""
        return self._service.items(lambda on, part: on.conversations(ME, part), page_size)

    def export(self, conversation_id: str = DEFAULT_CONVERSATION) -> models.Bundle:
        """Everything about a conversation, to take elsewhere."""
        return self._service.run(Conversations.export, conversation_id)

    def import_(self, bundle: models.Bundle) -> models.Operation:
        """Take over a conversation; ids stay the same."""
        return self._service.run(Conversations.import_, bundle)

    def erase_conversation(self, conversation_id: str, *, dry_run: bool = False) -> models.Erased:
        """Remove everything about a conversation for good; it must be named."""
        return self._service.run(Conversations.erase_conversation, conversation_id, dry_run=dry_run)

    def usage(self, *, since: datetime | None = None) -> models.TenantUsage:
        """What models have done for this memory."""
        return self._service.run(Conversations.usage, since=since)

    # -- being there

    def close(self) -> None:
        """Finish what has begun, and stop the models. A second time does nothing."""
        self._service.close()

    def __enter__(self) -> Self:
        """The memory itself."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Close."""
        self.close()


def _url(path: str | Path | None, store: str | None) -> str:
    if path is not None and store is not None:
        raise ConfigError("give path or store, not both")
    return file_url(Path(path)) if path is not None else store or _IN_MEMORY
