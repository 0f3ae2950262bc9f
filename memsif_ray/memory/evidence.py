"""Query-local evidence, by one of two makers (MemSIF 3.4).

`extract` turns the best-ranked messages into dated, attributed, near-verbatim statements; `distil` lets
an LLM write statements from them.

Both give the same values, so sufficiency, answers and ActiveFacts do not care which one was used.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.dates import annotate, spoken
from memsif_ray.memory.grounding import grounded
from memsif_ray.memory.subjects import SubjectRegistry
from memsif_ray.ports import ChatModel
from memsif_ray.prompts import escape
from memsif_ray.prompts.asking import ask
from memsif_ray.text import is_blank
from memsif_ray.types import CallScope, Decision, Evidence, Message, Question

DISTIL_LIMIT = 5
"""Statements an LLM may write for one question."""

_DATE = re.compile(r"^\[[^\]]*\] ")


def dated_line(message: Message) -> str:
    """A message as one line of notes: date, speaker, text with its relative dates resolved."""
    said = annotate(message.content, message.timestamp)
    return f"[{spoken(message.timestamp)}] {escape(message.speaker)}: {escape(said)}"


def undated(line: str) -> str:
    """A line of notes without its date."""
    return _DATE.sub("", line)


def extract(
    messages: Sequence[Message], *, unit_of: Mapping[str, str], subjects: SubjectRegistry
) -> tuple[Evidence, ...]:
    """One statement per message, in the order given (best first), provenance exact."""
    count = max(1, len(messages))
    return tuple(
        Evidence(
            statement=dated_line(m),
            subject=subjects.resolve(m.speaker),
            message_ids=(m.message_id,),
            segment_ids=(unit_of[m.message_id],) if m.message_id in unit_of else (),
            timestamp=m.timestamp,
            score=1 - rank / count,
        )
        for rank, m in enumerate(messages)
    )


async def distil(
    question: Question,
    messages: Sequence[Message],
    *,
    unit_of: Mapping[str, str],
    subjects: SubjectRegistry,
    chat: ChatModel,
    scope: CallScope,
) -> tuple[tuple[Evidence, ...], Decision]:
    """Statements an LLM writes from the best-ranked messages; ungrounded ones are refused.

    An unreadable reply falls back to `extract`, recorded as such.

    Raises:
        ServiceError: When the endpoint failed.
    """
    try:
        reply = await ask(
            chat,
            "distil",
            stage="distil",
            scope=scope,
            max_tokens=400,
            limit=DISTIL_LIMIT,
            notes=[dated_line(m) for m in messages],
            question=question.text,
        )
    except ReplyInvalid as exc:
        kept = extract(messages, unit_of=unit_of, subjects=subjects)
        return kept, Decision("evidence", question.question_id, "extract", "fallback", detail=str(exc))
    found = [_checked(item, messages, unit_of=unit_of, subjects=subjects) for item in reply["evidence"]]
    kept = tuple(item for item in found if item is not None)
    refused = len(found) - len(kept)
    detail = f"{refused} refused" if refused else ""
    return kept, Decision("evidence", question.question_id, "distil", "llm", detail=detail)


def _checked(
    item: Any, messages: Sequence[Message], *, unit_of: Mapping[str, str], subjects: SubjectRegistry
) -> Evidence | None:
    fields: Mapping[str, Any] = item if isinstance(item, Mapping) else {}
    statement, numbers = fields.get("statement"), fields.get("notes")
    if not isinstance(statement, str) or is_blank(statement) or not isinstance(numbers, list):
        return None
    cited = [messages[n - 1] for n in dict.fromkeys(numbers) if type(n) is int and 1 <= n <= len(messages)]
    if (
        not cited
        or not grounded(statement, [dated_line(m) for m in cited], names=[m.speaker for m in cited]).ok
    ):
        return None
    subject = fields.get("subject")
    latest = max(m.timestamp for m in cited)
    return Evidence(
        statement=f"[{spoken(latest)}] {escape(statement)}",
        subject=subjects.resolve(
            subject if isinstance(subject, str) and subject.strip() else cited[0].speaker
        ),
        message_ids=tuple(m.message_id for m in cited),
        segment_ids=tuple(dict.fromkeys(unit_of[m.message_id] for m in cited if m.message_id in unit_of)),
        timestamp=latest,
        score=1.0,
    )
