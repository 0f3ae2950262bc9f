"""LongMemEval: one user and one assistant, one question per history (Wu et al., ICLR 2025).

Reads the S and the oracle files alike. What labels the evidence (`has_answer`, `answer_session_ids`)
goes into the gold only, never into a message.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, time
from pathlib import Path
from typing import Any, Literal, NamedTuple

from memsif_ray.datasets.model import History
from memsif_ray.datasets.source import Answer, Lenient, Text, json_files, read_records, validated
from memsif_ray.errors import DataError
from memsif_ray.types import Category, Conversation, Gold, Message, Question

CATEGORIES = {
    "single-session-user": Category.SINGLE_HOP,
    "single-session-assistant": Category.SINGLE_HOP,
    "single-session-preference": Category.SINGLE_HOP,
    "multi-session": Category.MULTI_HOP,
    "temporal-reasoning": Category.TEMPORAL,
    "knowledge-update": Category.KNOWLEDGE,
}
"""Question types by MemSIF's categories; an id with `_abs` is adversarial whatever its type."""


class _Turn(Lenient):
    role: Literal["user", "assistant"]
    content: Text = ""
    has_answer: bool | None = None


class _Record(Lenient):
    question_id: Text
    question_type: Literal[
        "single-session-user",
        "single-session-assistant",
        "single-session-preference",
        "multi-session",
        "temporal-reasoning",
        "knowledge-update",
    ]
    question: Text
    answer: Answer
    question_date: str
    haystack_session_ids: list[Text]
    haystack_dates: list[str | None]
    haystack_sessions: list[list[_Turn]]


class _Session(NamedTuple):
    session_id: str
    date: datetime
    turns: Sequence[_Turn]


def histories(path: Path, *, point_in_time: bool = False) -> Iterator[History]:
    """Histories of a file, one at a time.

    Args:
        path: A file in LongMemEval's layout, or a folder of such files.
        point_in_time: Leave out sessions dated after the question. The official scoring keeps them;
            either way their number is counted.

    Raises:
        ConfigError: When there is nothing at `path`.
        DataError: Naming the file and the record that is not LongMemEval's.
    """
    for file in json_files(path):
        for number, record in enumerate(read_records(file)):
            yield parse_record(record, f"{file.name}, record {number}", point_in_time=point_in_time)


def matches(record: Any) -> bool:
    """Whether a record looks like LongMemEval's."""
    return isinstance(record, Mapping) and "haystack_sessions" in record


def parse_record(raw: Any, where: str, *, point_in_time: bool = False) -> History:
    """One record as a history whose conversation has the question's id.

    Raises:
        DataError: When the record is not LongMemEval's, e.g. has lists of unequal length.
    """
    if isinstance(raw, Mapping) and "question_id" in raw:
        where = f"{where} ({raw['question_id']})"
    record = validated(_Record, raw, where)
    asked_at = _parse_date(record.question_date, where)
    sessions = _sessions(record, asked_at, where)
    late = [session for session in sessions if session.date > asked_at]
    kept = [session for session in sessions if not point_in_time or session.date <= asked_at]
    messages, evidence = _messages(record.question_id, kept)
    abstain = "_abs" in record.question_id
    category = Category.ADVERSARIAL if abstain else CATEGORIES[record.question_type]
    question_id = record.question_id
    gold_evidence = () if abstain else evidence
    gold = Gold(
        question_id,
        "" if abstain else record.answer,
        gold_evidence,
        abstain=abstain,
        kind=record.question_type,
        explanation=record.answer if abstain else "",
    )
    return History(
        conversation=Conversation(question_id, "longmemeval", ("user", "assistant"), messages),
        questions=(Question(question_id, question_id, 0, record.question.strip(), category, asked_at),),
        gold={question_id: gold},
        strict_evidence={question_id: gold_evidence},
        counts=_counts(raw, record, kept, late),
    )


def _counts(
    raw: Mapping[str, Any], record: _Record, kept: Sequence[_Session], late: Sequence[_Session]
) -> Counter[str]:
    return Counter(
        sessions=len(kept),
        empty_sessions=sum(not session.turns for session in kept),
        undated_sessions=record.haystack_dates.count(None),
        sessions_after_question=len(late),
        questions_before_last_session=int(bool(late)),
        integer_answers=int(isinstance(raw["answer"], int)),
    )


def _parse_date(text: str, where: str) -> datetime:
    """`2023/05/20 (Sat) 02:21`; a day without a time means its end, so that the day's sessions count."""
    try:
        if " " in text:
            return datetime.strptime(text, "%Y/%m/%d (%a) %H:%M")
        return datetime.combine(datetime.strptime(text, "%Y/%m/%d"), time(23, 59))
    except ValueError as exc:
        raise DataError(f"{where}: date {text!r} is not like '2023/05/20 (Sat) 02:21'") from exc


def _sessions(record: _Record, asked_at: datetime, where: str) -> list[_Session]:
    """Sessions by date, stable on ties. One without a date (recovered files) gets the question's."""
    lists = (record.haystack_session_ids, record.haystack_dates, record.haystack_sessions)
    lengths = [len(values) for values in lists]
    if len(set(lengths)) > 1:
        raise DataError(
            f"{where}: {lengths[0]} session ids, {lengths[1]} dates and {lengths[2]} sessions "
            f"of question {record.question_id} do not match"
        )
    dates = [asked_at if date is None else _parse_date(date, where) for date in record.haystack_dates]
    rows = zip(_unique(record.haystack_session_ids), dates, record.haystack_sessions, strict=True)
    return sorted((_Session(*row) for row in rows), key=lambda session: session.date)


def _unique(names: Sequence[str]) -> list[str]:
    """The n-th use of a session id gets `#n`, so that message ids stay unique."""
    seen: Counter[str] = Counter()
    unique: list[str] = []
    for name in names:
        seen[name] += 1
        unique.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return unique


def _messages(
    conversation_id: str, sessions: Sequence[_Session]
) -> tuple[tuple[Message, ...], tuple[str, ...]]:
    """Messages, and the ids of those that hold the answer."""
    messages: list[Message] = []
    evidence: list[str] = []
    for number, session in enumerate(sessions, start=1):
        for index, turn in enumerate(session.turns, start=1):
            message_id = f"{session.session_id}:{index}"
            if turn.has_answer:
                evidence.append(message_id)
            messages.append(
                Message(
                    conversation_id=conversation_id,
                    message_id=message_id,
                    position=len(messages),
                    session=number,
                    speaker=turn.role,
                    text=turn.content,
                    timestamp=session.date,
                    role=turn.role,
                )
            )
    return tuple(messages), tuple(evidence)
