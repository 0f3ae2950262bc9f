"""LoCoMo: two people over months (Maharana et al., ACL 2024).

Two layouts carry the same content. The official `locomo10.json` is a list of
`{sample_id, conversation, qa}`; the older release has one file per conversation with `speaker_a`,
`session_1`, `session_1_date_time` … and `qa` side by side. Annotations (`observation`,
`session_summary`, `event_summary`) are derived from the gold and are never read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple

from memsif_ray.datasets.evidence import EvidenceReading, read_evidence, strict_evidence
from memsif_ray.datasets.model import History
from memsif_ray.datasets.source import Answer, Lenient, Text, json_files, read_records, validated
from memsif_ray.errors import DataError
from memsif_ray.types import Category, Conversation, Gold, Message, Question

CATEGORIES = {
    1: Category.MULTI_HOP,
    2: Category.TEMPORAL,
    3: Category.KNOWLEDGE,
    4: Category.SINGLE_HOP,
    5: Category.ADVERSARIAL,
}
"""By their counts in the paper; the numbers in the files follow another order than its text."""

_SESSION = re.compile(r"session_(\d+)")
_SESSION_DATE = re.compile(r"session_(\d+)_date_time")


class _Turn(Lenient):
    speaker: Text
    dia_id: Text
    text: Text = ""
    blip_caption: Text | None = None


class _Sessions(Lenient):
    speaker_a: Text
    speaker_b: Text
    turns: dict[int, list[_Turn]]
    dates: dict[int, str]


class _Item(Lenient):
    question: Text
    category: Literal[1, 2, 3, 4, 5]
    answer: Answer | None = None
    adversarial_answer: Answer | None = None
    evidence: list[Text] = []


class _Record(Lenient):
    sample_id: Text
    conversation: dict[str, Any]
    qa: list[dict[str, Any]] = []


class _Annotated(NamedTuple):
    question: Question
    gold: Gold
    evidence: EvidenceReading
    strict: tuple[str, ...]


def histories(path: Path) -> Iterator[History]:
    """Conversations of a file or folder, one at a time, in either layout.

    Raises:
        ConfigError: When there is nothing at `path`.
        DataError: Naming the file and the record that is not LoCoMo's.
    """
    for file in json_files(path):
        for number, record in enumerate(read_records(file)):
            where = f"{file.name}, record {number}"
            yield _history(validated(_Record, _official(record, file.stem), where), where)


def matches(record: Any) -> bool:
    """Whether a record looks like LoCoMo's, in either layout."""
    return isinstance(record, Mapping) and ("speaker_a" in record or "conversation" in record)


def parse_session_date(text: str) -> datetime:
    """Date such as `12:09 am on 1 January, 2024`: a 12-hour clock, so this is nine past midnight.

    Raises:
        ValueError: On any other form.
    """
    return datetime.strptime(text.strip(), "%I:%M %p on %d %B, %Y")


def _official(record: Any, stem: str) -> Any:
    """The older flat layout lifted into the official one; its file name is the conversation's id."""
    if isinstance(record, Mapping) and "speaker_a" in record:
        return {"sample_id": stem, "conversation": record, "qa": record.get("qa", [])}
    return record


def _history(record: _Record, where: str) -> History:
    where = f"{where} ({record.sample_id})"
    sessions = _sessions(record.conversation, where)
    messages = _messages(record.sample_id, sessions, where)
    known = {message.message_id for message in messages}
    annotated = [
        _annotated(index, raw, record.sample_id, known, where) for index, raw in enumerate(record.qa)
    ]
    speakers = (sessions.speaker_a, sessions.speaker_b)
    return History(
        conversation=Conversation(record.sample_id, "locomo", speakers, messages),
        questions=tuple(item.question for item in annotated),
        gold={item.gold.question_id: item.gold for item in annotated},
        strict_evidence={item.gold.question_id: item.strict for item in annotated},
        counts=_counts(record, sessions, annotated),
        repairs=tuple(repair for item in annotated for repair in item.evidence.repairs),
    )


def _counts(record: _Record, sessions: _Sessions, annotated: Sequence[_Annotated]) -> dict[str, int]:
    return {
        "sessions": len(sessions.turns),
        "empty_sessions": sum(not turns for turns in sessions.turns.values()),
        "dates_without_session": len(sessions.dates.keys() - sessions.turns.keys()),
        "integer_answers": sum(isinstance(raw.get("answer"), int) for raw in record.qa),
        "evidence_items": sum(len(raw.get("evidence", [])) for raw in record.qa),
        "evidence_ids": sum(item.evidence.read for item in annotated),
        "evidence_resolved": sum(item.evidence.resolved for item in annotated),
    }


def _sessions(raw: Mapping[str, Any], where: str) -> _Sessions:
    turns = {int(found[1]): raw[key] for key in raw if (found := _SESSION.fullmatch(key))}
    dates = {int(found[1]): raw[key] for key in raw if (found := _SESSION_DATE.fullmatch(key))}
    return validated(_Sessions, {**raw, "turns": dict(sorted(turns.items())), "dates": dates}, where)


def _messages(conversation_id: str, sessions: _Sessions, where: str) -> tuple[Message, ...]:
    messages: list[Message] = []
    for number, turns in sessions.turns.items():
        if not turns:
            continue
        timestamp = _timestamp(sessions.dates.get(number), f"{where}, session {number}")
        for turn in turns:
            messages.append(
                Message(
                    conversation_id=conversation_id,
                    message_id=turn.dia_id,
                    position=len(messages),
                    session=number,
                    speaker=turn.speaker,
                    text=turn.text,
                    timestamp=timestamp,
                    caption=(turn.blip_caption or "").strip() or None,
                )
            )
    repeated = [name for name, n in Counter(message.message_id for message in messages).items() if n > 1]
    if repeated:
        raise DataError(f"{where}: dia_id {repeated[0]} is used more than once")
    return tuple(messages)


def _timestamp(text: str | None, where: str) -> datetime:
    if text is None:
        raise DataError(f"{where}: has turns but no date")
    try:
        return parse_session_date(text)
    except ValueError as exc:
        raise DataError(f"{where}: date {text!r} is not like '1:56 pm on 8 May, 2023'") from exc


def _annotated(index: int, raw: Any, conversation_id: str, known: Collection[str], where: str) -> _Annotated:
    where = f"{where}, question {index}"
    item = validated(_Item, raw, where)
    category = CATEGORIES[item.category]
    question_id = f"{conversation_id}_q{index}"
    # Two adversarial questions of the release have an answer of their own, which is then the gold.
    abstain = item.answer is None
    if abstain and category is not Category.ADVERSARIAL:
        raise DataError(f"{where}: no answer")
    evidence = read_evidence(item.evidence, known, conversation_id=conversation_id, question_index=index)
    return _Annotated(
        Question(question_id, conversation_id, index, item.question.strip(), category),
        Gold(question_id, item.answer or "", evidence.ids, item.adversarial_answer, abstain),
        evidence,
        strict_evidence(item.evidence, known),
    )
