"""The words of the memory API: requests and results, shared by the server, the clients and the tools.

Times are ISO 8601; one without an offset is the speaker's local time. Four names are used for four things:
`event_time` (when it happened), `ingested_at` (when memory learned it), `valid_from` and `valid_to` (when it
holds). Ids are opaque, prefixed (`mem_`, `seg_`, `trj_`, `cand_`, `msg_`, `op_`), and stay the same after
export and import.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from typing import Annotated, Any, Generic, Literal, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StringConstraints,
    model_validator,
)

from memsif_ray.text import clean, is_blank

MAX_CONTENT = 32_768
MAX_BATCH = 1_000


class Model(BaseModel):
    """Refuses unknown keys, so that a misspelt option is an error and not a silence."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def cleaned(value: Any) -> Any:
    """JSON data with every text in it cleaned, keys included, so that any store and endpoint accepts it."""
    if isinstance(value, str):
        return clean(value)
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return {cleaned(key): cleaned(item) for key, item in value.items()}
    return value


def _says_something(text: str) -> str:
    if is_blank(text):
        raise ValueError("must say something")
    return text


Text = Annotated[
    str,
    StringConstraints(max_length=MAX_CONTENT),
    AfterValidator(_says_something),
    BeforeValidator(cleaned),
]
"""Not blank; lone surrogates are replaced and NUL is removed, before anything else looks at it."""
Metadata = Annotated[dict[str, JsonValue], Field(max_length=50), BeforeValidator(cleaned)]
"""Kept and given back, never interpreted."""
Name = Annotated[str, StringConstraints(min_length=1, max_length=200, pattern=r"^[^\x00-\x1f\x7f*]+$")]
"""An id or display name from outside: one line, no `*`. It never becomes a path."""
ConversationId = Annotated[
    str,
    StringConstraints(
        min_length=1, max_length=200, pattern=r"^\.*[^\x00-\x1f\x7f*/\\.][^\x00-\x1f\x7f*/\\]*$"
    ),
]
"""A `Name` that is one segment of an address: no slash or backslash, and more than dots."""
Limit = Annotated[int, Field(ge=1, le=1_000)]
Policy = Literal["retain", "merge", "abstract", "rewrite", "auto"]
"""What to do with notes under a token budget (OAS); `auto` asks the trained router."""


class MessageIn(Model):
    """A turn to remember.

    Attributes:
        id: The caller's own; a known one is not added again. By default its digest and place.
        name: Speaker; by default the role.
        timestamp: By default the time of arrival.
        session: Groups turns of one sitting; by default a pause of six hours begins another.
        metadata: Kept and given back, never interpreted.
    """

    content: Text
    role: Literal["user", "assistant"] = "user"
    name: Name | None = None
    timestamp: datetime | None = None
    id: Name | None = None
    session: Name | None = None
    metadata: Metadata = Field(default_factory=dict)


class IngestRequest(Model):
    """Messages of one conversation, in order; a text or a single message will do.

    Attributes:
        wait: Answer when memory has digested them, instead of when they are stored.
        dry_run: Say what would be accepted, and store nothing.
    """

    conversation_id: ConversationId
    messages: Annotated[list[MessageIn], Field(min_length=1, max_length=MAX_BATCH)]
    wait: bool = False
    dry_run: bool = False

    @model_validator(mode="before")
    @classmethod
    def _several(cls, given: Any) -> Any:
        if not isinstance(given, dict):
            return given
        messages = given.get("messages")
        if isinstance(messages, str | dict | MessageIn):
            messages = [messages]
        if isinstance(messages, list):
            messages = [{"content": m} if isinstance(m, str) else m for m in messages]
        return {**given, "messages": messages}


class BatchRequest(Model):
    """Several ingests; those of one conversation are taken in order, those of different ones side by side."""

    requests: Annotated[list[IngestRequest], Field(min_length=1, max_length=100)]


class OperationStatus(StrEnum):
    """Of a write that was acknowledged before it was digested."""

    PENDING = "pending"
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Operation(Model):
    """A write and what became of it.

    Attributes:
        kind: `ingest` or `import`.
        accepted: Messages stored by it.
        duplicates: Messages left out because their ids were known.
        message_ids: Of all messages of the request, in order.
        error: Why it failed; a failed write is stored, and is digested by a retry or the next write.
    """

    id: str
    kind: str
    conversation_id: str
    status: OperationStatus
    created_at: datetime
    updated_at: datetime
    accepted: int = 0
    duplicates: int = 0
    message_ids: tuple[str, ...] = ()
    error: str = ""


class ErrorDetail(Model):
    """What went wrong, in the shape that OpenAI's API gives it.

    Attributes:
        type: Its family, e.g. `invalid_request_error`.
        code: One word to branch on, e.g. `not_found`; a model server's own where it failed.
        param: The field at fault, where there is one.
        request_id: Of the log lines about it.
    """

    type: str
    code: str
    message: str
    param: str | None = None
    request_id: str = ""


class ErrorOut(Model):
    """The body of every reply that is an error."""

    error: ErrorDetail


class BatchItem(Model):
    """What became of one request of a batch: its operation, or why there is none."""

    operation: Operation | None = None
    error: ErrorDetail | None = None


class BatchResult(Model):
    """One item per request, in order; a failed one does not stop the others."""

    results: tuple[BatchItem, ...]
    failed: int


class SearchRequest(Model):
    """What memory would show for a query: at most `top_k` results, or as many as `max_tokens` hold.

    Attributes:
        types: Kinds of results (`core`, `active`, `evidence`, `message`) or CoreFact types; empty = all.
        as_of: As memory was then.
        valid_at: What held then.
        consolidation: What to do with notes that exceed `max_tokens`; wants `max_tokens`.
        include: More of each result: where it comes from, and how it was found.
    """

    conversation_id: ConversationId
    query: Text
    top_k: Annotated[int, Field(ge=1, le=200)] | None = None
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] | None = None
    types: tuple[Name, ...] = ()
    as_of: datetime | None = None
    valid_at: datetime | None = None
    consolidation: Policy | None = None
    include: frozenset[Literal["provenance", "trace"]] = frozenset()

    @model_validator(mode="after")
    def _one_limit(self) -> SearchRequest:
        if self.top_k is not None and self.max_tokens is not None:
            raise ValueError("give top_k or max_tokens, not both")
        if self.consolidation is not None and self.max_tokens is None:
            raise ValueError("consolidation wants max_tokens")
        return self


class AnswerRequest(Model):
    """A question to answer from memory.

    Attributes:
        learn: Let the question's evidence grow into ActiveFacts.
        asked_at: For relative dates; by default now.
        max_tokens: Budget of the evidence shown to the model.
    """

    conversation_id: ConversationId
    question: Text
    learn: bool = True
    asked_at: datetime | None = None
    max_tokens: Annotated[int, Field(ge=1, le=100_000)] | None = None
    consolidation: Policy | None = None


class Usage(Model):
    """Model work that a request caused."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    model_calls: int = 0
    embedded_texts: int = 0


class SourceMessage(Model):
    """A message as it was given."""

    id: str
    position: int
    session: int
    role: str
    name: str
    content: str
    timestamp: datetime
    metadata: dict[str, JsonValue] = {}


class Found(Model):
    """One result of a search, or one piece of evidence of an answer.

    Attributes:
        id: Of the memory; of the first message for evidence that is no stored memory.
        type: `core`, `active`, `evidence`, `message`, or what packing made of several.
        score_parts: What the score is made of, by name.
        message_ids: What it rests on.
        provenance: Those messages; only when asked for.
    """

    id: str
    type: str
    text: str
    score: float
    score_parts: dict[str, float] = {}
    message_ids: tuple[str, ...] = ()
    event_time: datetime | None = None
    ingested_at: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    status: str = "active"
    provenance: tuple[SourceMessage, ...] | None = None


class SearchResult(Model):
    """Results, best first.

    Attributes:
        pending: Writes to this conversation that are stored but not digested yet.
        trace: Decisions made on the way; only when asked for.
    """

    results: tuple[Found, ...]
    next_cursor: str | None = None
    usage: Usage = Usage()
    pending: int = 0
    trace: tuple[dict[str, JsonValue], ...] | None = None


class AnswerResult(Model):
    """An answer and what it rests on.

    Attributes:
        answer: None when the model gave none that can be used; then `error` says why.
        sufficient: Whether stored facts were enough, so that no message had to be read.
        promoted: Memories that this question brought about.
    """

    answer: str | None
    error: str = ""
    evidence: tuple[Found, ...]
    sufficient: bool
    promoted: tuple[str, ...] = ()
    usage: Usage = Usage()
    pending: int = 0


class Memory(Model):
    """A fact of either track in its latest version.

    Attributes:
        track: `core` or `active`.
        type: CoreFact type, e.g. `Preference`.
        version: Grows by one with every change; the `ETag` of the resource.
        replaced_by: The memory that superseded it or that it was merged into.
    """

    id: str
    conversation_id: str
    track: str
    type: str
    subject: str
    attribute: str
    text: str
    status: str
    version: int
    ingested_at: datetime
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    replaced_by: str | None = None
    message_ids: tuple[str, ...] = ()
    segment_ids: tuple[str, ...] = ()
    queries: tuple[str, ...] = ()


class MemoryChange(Model):
    """A correction by a person: written as an Update, the earlier version stays in the history."""

    text: Text | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None

    @model_validator(mode="after")
    def _changes(self) -> MemoryChange:
        if not self.model_fields_set:
            raise ValueError("nothing to change")
        return self


class Successor(Model):
    """What replaces a memory that is no longer true."""

    text: Text
    valid_from: datetime | None = None


class HistoryEntry(Model):
    """One operation on a memory, oldest first."""

    op: str
    text: str
    status: str
    at: datetime
    decided_by: str
    reason: str
    targets: tuple[str, ...] = ()


class SegmentOut(Model):
    """A Topical Segment: a topic-coherent run of messages. `open` while messages may still join it."""

    id: str
    message_ids: tuple[str, ...]
    start: int
    stop: int
    began: datetime
    ended: datetime
    trajectory_id: str | None
    entities: tuple[str, ...]
    open: bool = False


class TrajectoryOut(Model):
    """An Event Trajectory: the same event across sessions."""

    id: str
    segment_ids: tuple[str, ...]
    entities: tuple[str, ...]


class Candidate(Model):
    """What questions have made of a detail so far, and how far it is from promotion (MemSIF 3.4).

    It is promoted when both scores reach their thresholds.
    """

    id: str
    subject: str
    statements: tuple[str, ...]
    queries: tuple[str, ...]
    sources: tuple[str, ...]
    message_ids: tuple[str, ...]
    source_score: float
    query_score: float
    theta_source: float
    theta_query: float
    promoted: str | None


class Provenance(Model):
    """Why a memory is there: its messages, the segments and trajectories they are in, and the questions."""

    memory: Memory
    messages: tuple[SourceMessage, ...]
    segments: tuple[SegmentOut, ...]
    trajectories: tuple[TrajectoryOut, ...]
    queries: tuple[str, ...]


class ConversationOut(Model):
    """One conversation of a tenant."""

    conversation_id: str
    messages: int
    created_at: datetime
    updated_at: datetime
    pending: int = 0


class Erased(Model):
    """What a deletion removed, or with `dry_run` would remove."""

    messages: int = 0
    memories: int = 0
    dry_run: bool = False


class Bundle(Model):
    """Everything about one conversation, to take elsewhere.

    Attributes:
        key: Part of the ids of everything in it, which therefore stay the same.
        embedder: Whose vectors `state` holds.
        state: Rows by table, as the store has them.
    """

    format: Literal["memsif-bundle"] = "memsif-bundle"
    version: Literal[1] = 1
    conversation_id: ConversationId
    key: str
    embedder: str
    messages: tuple[SourceMessage, ...]
    state: dict[str, list[dict[str, JsonValue]]]


class AuditEntry(Model):
    """Who did what to which resource; never any text."""

    at: datetime
    key_id: str
    request_id: str
    action: str
    target: str


class TenantUsage(Model):
    """What a tenant has used since `since`."""

    since: datetime | None
    requests: int
    prompt_tokens: int
    completion_tokens: int
    model_calls: int
    embedded_texts: int


Item = TypeVar("Item")


class Page(Model, Generic[Item]):
    """Some of a list; `next_cursor` asks for what follows, None at the end."""

    results: tuple[Item, ...]
    next_cursor: str | None = None
