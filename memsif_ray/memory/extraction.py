"""Candidate facts of one Topical Segment: by an LLM under the schema, or by cue phrases (MemSIF 3.3).

The model's items are checked one by one. An item is accepted when it is a string, or an object whose
`statement` (also `fact` or `text`, which small models write instead) is a non-blank string; everything
else is counted with its reason. A statement must be grounded in the messages it cites, so an example
that leaks out of a prompt, or a translation of what was said, never becomes memory.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.cues import find_cues, validity
from memsif_ray.memory.dates import annotate, event_time
from memsif_ray.memory.grounding import grounded
from memsif_ray.memory.subjects import SubjectRegistry
from memsif_ray.ports import ChatModel
from memsif_ray.prompts.asking import ask
from memsif_ray.prompts.replies import choose
from memsif_ray.text import is_blank, words
from memsif_ray.types import CallScope, Message

_STATEMENT_KEYS = ("statement", "fact", "text")


@dataclass(frozen=True, slots=True)
class Candidate:
    """A fact that is not written yet; times as in `Fact`."""

    subject: str
    type: str
    attribute: str
    statement: str
    message_ids: tuple[str, ...]
    segment_id: str
    learned_at: datetime
    event_time: datetime | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None


@dataclass(frozen=True, slots=True)
class Refusal:
    """A candidate that was not accepted, and why."""

    candidate: Candidate
    reason: str


@dataclass(frozen=True, slots=True)
class Extraction:
    """What one segment yielded. `failure` names why nothing could be read; it never means "no facts"."""

    candidates: tuple[Candidate, ...]
    refused: tuple[Refusal, ...] = ()
    decided_by: str = "rule"
    failure: str = ""


async def extract_by_model(
    messages: Sequence[Message],
    segment_id: str,
    *,
    chat: ChatModel,
    types: Mapping[str, str],
    subjects: SubjectRegistry,
    scope: CallScope,
) -> Extraction:
    """Ask an LLM for schema-eligible facts of one segment, and keep those that stand up.

    Raises:
        ServiceError: When the endpoint failed; the segment is then retried by a later start.
    """
    try:
        reply = await ask(
            chat,
            "extract",
            stage="extract",
            scope=scope,
            max_tokens=500,
            types=types,
            messages=messages,
            date=f"{messages[0].timestamp:%Y-%m-%d (%A)}",
        )
    except ReplyInvalid as exc:
        return Extraction((), decided_by="llm", failure=str(exc))
    accepted: list[Candidate] = []
    refused: list[Refusal] = []
    for item in reply["facts"]:
        candidate, reason = _check(item, messages, segment_id, types=types, subjects=subjects)
        if reason:
            refused.append(Refusal(candidate, reason))
        else:
            accepted.append(candidate)
    return Extraction(tuple(accepted), tuple(refused), "llm")


def extract_by_rule(messages: Sequence[Message], segment_id: str, *, subjects: SubjectRegistry) -> Extraction:
    """Model-free counterpart: sentences with a self-disclosing cue, kept near verbatim."""
    found = [
        _dated(
            Candidate(
                subject=subjects.resolve(message.speaker),
                type=cue.type,
                attribute=cue.attribute,
                statement=f"{message.speaker}: {annotate(cue.sentence, message.timestamp)}",
                message_ids=(message.message_id,),
                segment_id=segment_id,
                learned_at=message.timestamp,
            ),
            message,
            cue.sentence,
        )
        for message in messages
        for cue in find_cues(message)
    ]
    return Extraction(tuple(found))


def _check(
    item: Any,
    messages: Sequence[Message],
    segment_id: str,
    *,
    types: Mapping[str, str],
    subjects: SubjectRegistry,
) -> tuple[Candidate, str]:
    """The candidate behind one item, and the reason for refusing it ("" = accepted)."""
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
    statement = (
        item if isinstance(item, str) else next((fields[k] for k in _STATEMENT_KEYS if k in fields), None)
    )
    if not isinstance(statement, str) or is_blank(statement):
        return _blank(item, messages[0], segment_id), "no statement"
    sources = _sources(fields.get("messages"), statement, messages)
    source = sources[0]
    candidate = Candidate(
        subject=subjects.resolve(_text(fields.get("subject")) or source.speaker, speaker=source.speaker),
        type=_text(fields.get("type")),
        attribute=" ".join(words(_text(fields.get("attribute")))),
        statement=annotate(" ".join(statement.split()), source.timestamp),
        message_ids=tuple(m.message_id for m in sources),
        segment_id=segment_id,
        learned_at=max(m.timestamp for m in sources),
    )
    verdict = grounded(statement, [m.content for m in sources], names=[m.speaker for m in messages])
    if not verdict.ok:
        return candidate, f"not grounded: {', '.join(verdict.missing[:5])}"
    if fields.get("type") is not None:
        try:
            candidate = replace(candidate, type=choose(fields["type"], tuple(types)))
        except ReplyInvalid as exc:
            return candidate, f"type {exc}"
    return _dated(candidate, source, source.content), ""


def _sources(cited: Any, statement: str, messages: Sequence[Message]) -> list[Message]:
    """The cited messages that exist; else the one that shares most words with the statement."""
    numbers = cited if isinstance(cited, list) else []
    known = [messages[n - 1] for n in dict.fromkeys(numbers) if type(n) is int and 1 <= n <= len(messages)]
    if known:
        return known
    wanted = set(words(statement))
    return [max(messages, key=lambda m: len(wanted & set(words(m.content))))]


def _dated(candidate: Candidate, source: Message, text: str) -> Candidate:
    """Fill the times from what the message says, resolved against the message's own date."""
    ref = event_time(text, source.timestamp)
    begins, ends = validity(text, ref, source.timestamp)
    when = None if ref is None else datetime.combine(ref.start, datetime.min.time())
    return replace(candidate, event_time=when, valid_from=begins, valid_to=ends)


def _blank(item: Any, message: Message, segment_id: str) -> Candidate:
    return Candidate("", "", "", repr(item)[:80], (), segment_id, message.timestamp)


def _text(value: Any) -> str:
    return value.strip() if isinstance(value, str) else ""
