"""The nouns of the system, as frozen values.

Gold answers live in [`Gold`][memsif_ray.types.Gold], apart from [`Question`][memsif_ray.types.Question]:
whatever builds prompts is handed questions only, so a reference answer cannot leak by accident.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Vector: TypeAlias = NDArray[np.float32]
"""One embedding, shape (dim,), unit length."""
Matrix: TypeAlias = NDArray[np.float32]
"""Embeddings, shape (n, dim), rows of unit length."""


class Category(StrEnum):
    """Question categories shared by both benchmarks (MemSIF, Appendix B)."""

    SINGLE_HOP = "S-hop"
    MULTI_HOP = "M-hop"
    TEMPORAL = "Temp"
    KNOWLEDGE = "Kno"
    ADVERSARIAL = "Adv"
    """LoCoMo category 5 and LongMemEval `_abs`: the right reply is to abstain. Never part of ACC."""


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a conversation, cleaned by its loader.

    Attributes:
        conversation_id: The conversation it belongs to.
        message_id: Unique in the conversation, e.g. `D1:3`.
        position: Global position in the conversation, from 0.
        session: Session number, from 1.
        speaker: Display name of the speaker.
        text: What was said; valid Unicode, may be blank.
        timestamp: Local time of the session as the data gives it, no time zone.
        caption: Caption of a shared picture, if any.
        role: `user` or `assistant`. An assistant's turn that only echoes memory is no new evidence.
    """

    conversation_id: str
    message_id: str
    position: int
    session: int
    speaker: str
    text: str
    timestamp: datetime
    caption: str | None = None
    role: str = "user"

    @property
    def content(self) -> str:
        """Text with the caption marked, as embedded, indexed and shown to models; "" when blank."""
        if not self.caption:
            return self.text
        return f"{self.text} [shares a photo: {self.caption}]".lstrip()


@dataclass(frozen=True, slots=True)
class Conversation:
    """A whole history, messages in order."""

    conversation_id: str
    dataset: str
    speakers: tuple[str, ...]
    messages: tuple[Message, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What may be shown to a method: no gold, no evidence ids, no trap."""

    question_id: str
    conversation_id: str
    index: int
    text: str
    category: Category
    asked_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Gold:
    """The reference for one question; only `evaluation` may read it.

    Attributes:
        answer: Reference answer as text; "" when `abstain`.
        evidence: Repaired gold message ids that exist in the conversation.
        trap: The adversarial answer that must be scored wrong, if any.
        abstain: True when the right reply says that it was never mentioned.
        kind: The benchmark's own question type, e.g. `single-session-preference`; "" where it has none.
        explanation: Why the question cannot be answered, where the benchmark says so.
    """

    question_id: str
    answer: str
    evidence: tuple[str, ...] = ()
    trap: str | None = None
    abstain: bool = False
    kind: str = ""
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class Segment:
    """A Topical Segment: messages `start` (inclusive) to `stop` (exclusive) by position (MemSIF 3.2)."""

    segment_id: str
    start: int
    stop: int
    message_ids: tuple[str, ...]
    embedding: Vector
    entities: frozenset[str]


@dataclass(frozen=True, slots=True)
class Trajectory:
    """An Event Trajectory: segments of one evolving event, in order, gaps allowed (MemSIF 3.2)."""

    trajectory_id: str
    segment_ids: tuple[str, ...]
    embedding: Vector
    entities: frozenset[str]


@dataclass(frozen=True, slots=True)
class Decision:
    """One choice made while building or reading memory, and who made it.

    Attributes:
        kind: `boundary`, `trajectory`, `sufficiency`, ...
        subject_id: What was decided about (a message, segment or question id).
        outcome: e.g. `append`, `split`, `traj_0007`, `sufficient`.
        decided_by: `threshold`, `llm`, `rule`, or `fallback` (the model's reply was unusable).
        score: The φ or coverage that the decision rests on, if any.
        detail: Reason in words, e.g. why a fallback happened.
    """

    kind: str
    subject_id: str
    outcome: str
    decided_by: str
    score: float | None = None
    detail: str = ""


@dataclass(frozen=True, slots=True)
class StoredVector:
    """An embedding kept beside the unit it belongs to.

    `kind` is `message`, `fact`, `statement` or `query` (the last two belong to candidate clusters);
    `entities` are a message's key entities.
    """

    kind: str
    unit_id: str
    model_id: str
    vector: Vector
    entities: frozenset[str] = frozenset()


class Track(StrEnum):
    """Which of the two tracks a fact belongs to (MemSIF 3.3, 3.4)."""

    CORE = "core"
    ACTIVE = "active"


class Op(StrEnum):
    """Operations on facts. The current view is the fold of their rows; none rewrites an earlier one."""

    ADD = "Add"
    UPDATE = "Update"
    MERGE = "Merge"
    SUPERSEDE = "Supersede"
    PROMOTE = "Promote"
    REJECT = "Reject"
    RETRACT = "Retract"
    """A person takes a fact out of use; its history stays, and `Restore` undoes it."""
    RESTORE = "Restore"


@dataclass(frozen=True, slots=True)
class Fact:
    """One version of a fact, traceable to messages.

    Bi-temporal: `ingested_at` says when memory learned it (the time of the message that taught it),
    `valid_from`/`valid_to` when it holds in the world. `status` is `active`, `superseded`, `merged`,
    `retracted` (by a person), or `erased`: then only its id, its times and its place in the log are left.
    """

    fact_id: str
    track: Track
    subject: str
    type: str
    attribute: str
    statement: str
    message_ids: tuple[str, ...]
    segment_ids: tuple[str, ...]
    ingested_at: datetime
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    status: str = "active"
    replaced_by: str | None = None
    query_ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FactOperation:
    """One row of the append-only fact log.

    Attributes:
        seq: Position in the conversation's log, from 0.
        op: What happened.
        fact: The version written (for `Reject`: the refused candidate, never visible in a view).
        targets: Ids of the facts it updates, merges or supersedes.
        decided_by: `llm`, `rule`, `fallback` or `user`.
        reason: In words; for `Reject` why it was refused.
    """

    seq: int
    op: Op
    fact: Fact
    targets: tuple[str, ...] = ()
    decided_by: str = "rule"
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Note:
    """One piece of a compared system's memory: a memory item, page, session, episode, theme or profile.

    Append-only like facts: a later note of the same id replaces the earlier one in the current view.

    Attributes:
        note_id: Unique in the conversation, but for its later versions.
        kind: What the system calls it, e.g. `memory`, `page`, `episode`.
        text: As it is searched or shown.
        message_ids: The messages it rests on.
        timestamp: When that was said; None where it spans times.
        links: Ids of other notes: members, parents, neighbours.
        tags: Keywords, entities, people.
        detail: What else the system keeps, as JSON.
        active: False once it was deleted or merged into another.
    """

    note_id: str
    kind: str
    text: str
    message_ids: tuple[str, ...] = ()
    timestamp: datetime | None = None
    links: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    detail: str = ""
    active: bool = True


@dataclass(frozen=True, slots=True)
class Evidence:
    """Query-local evidence: lives for one answer (MemSIF 3.4)."""

    statement: str
    subject: str
    message_ids: tuple[str, ...]
    segment_ids: tuple[str, ...]
    timestamp: datetime
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class CandidateCluster:
    """C = (s, X, Q, R) of MemSIF 3.4: subject, statements, triggering queries, source units."""

    cluster_id: str
    subject: str
    statements: tuple[str, ...]
    query_ids: tuple[str, ...]
    queries: tuple[str, ...]
    sources: tuple[str, ...]
    message_ids: tuple[str, ...]
    first_seen: datetime
    last_seen: datetime
    promoted_fact_id: str | None = None


@dataclass(frozen=True, slots=True)
class ContextItem:
    """One line of an answer context.

    `kind` is `core`, `active`, `evidence`, `message`, or the kind of a compared system's note. `score` is its
    relevance to the question, higher is better: a hard token cap keeps the best lines.
    """

    item_id: str
    kind: str
    text: str
    message_ids: tuple[str, ...]
    timestamp: datetime | None = None
    score: float = 0.0


@dataclass(frozen=True, slots=True)
class Context:
    """What a method hands to the shared answer prompt, in reading order.

    Attributes:
        items: The lines.
        retrieved_ids: Message ids ranked by interaction retrieval, best first (may exceed `items`).
        evidence: Query-local evidence behind `items`, for ActiveFact accumulation.
        decisions: Sufficiency and evidence decisions made on the way.
    """

    items: tuple[ContextItem, ...]
    retrieved_ids: tuple[str, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    decisions: tuple[Decision, ...] = ()

    @property
    def text(self) -> str:
        """The lines joined by newlines."""
        return "\n".join(item.text for item in self.items)

    @property
    def message_ids(self) -> frozenset[str]:
        """Every message id that some item rests on."""
        return frozenset(mid for item in self.items for mid in item.message_ids)


@dataclass(frozen=True, slots=True)
class CallScope:
    """On whose behalf a model call is made; every field lands in the call ledger."""

    method: str = ""
    conversation_id: str = ""
    question_id: str = ""
    run: int = 0


@dataclass(frozen=True, slots=True)
class ChatRequest:
    """One chat completion.

    Attributes:
        stage: What the call is for: `boundary`, `trajectory`, `extract`, `consolidate`, `sufficiency`,
            `distil`, `promote`, `answer`, `judge`, `probe`.
        system: System message.
        user: User message.
        schema: JSON schema of the reply; None for free text.
        prompt_id: Name of the prompt file.
        prompt_fingerprint: Hash of the prompt file and its schema.
        attempt: 0 for the first try; a retry after an unusable reply counts up, so it is a new call.
        logprobs: Whether the reply's mean log-probability is wanted; not every endpoint can tell it.
        parse: How the reply is read, given its schema, by whoever asks and by the ledger alike; None means
            `prompts.replies.parse_reply`. It decides nothing about the reply itself.
    """

    stage: str
    system: str
    user: str
    max_tokens: int
    temperature: float = 0.0
    seed: int = 0
    schema: dict[str, Any] | None = None
    prompt_id: str = ""
    prompt_fingerprint: str = ""
    scope: CallScope = field(default_factory=CallScope)
    attempt: int = 0
    logprobs: bool = False
    parse: Callable[[ChatReply, dict[str, Any] | None], Any] | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class ChatReply:
    """What came back. `content` is None when the server sent none (reasoning is never mined).

    `prompt_tokens` and `completion_tokens` are the server's `usage`; None when it gave none.
    `mean_logprob` is the mean natural log-probability of the reply's tokens; None when nobody asked for it or
    the server gave none.
    """

    content: str | None
    finish_reason: str
    model: str
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    latency_s: float = 0.0
    attempts: int = 1
    mean_logprob: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """A generated answer, or the named reason why there is none."""

    question_id: str
    text: str | None
    error: str = ""


class Outcome(StrEnum):
    """What a judge said. `INVALID` is unscored: neither right nor wrong."""

    RIGHT = "right"
    WRONG = "wrong"
    INVALID = "invalid"


@dataclass(frozen=True, slots=True)
class Verdict:
    """One grading of one answer."""

    question_id: str
    outcome: Outcome
    profile: str
    reason: str = ""
