"""One call of a chat model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


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
