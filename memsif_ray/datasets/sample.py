"""The bundled sample: three original histories in the two benchmarks' own layouts.

`sample/two_people.json` is a LoCoMo file. LongMemEval repeats a whole history for each question, so
`sample/assistant.json` stores one haystack with many questions; it is expanded into ordinary records,
which take the ordinary way, and the equal conversations are merged again.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

from memsif_ray.datasets import locomo, longmemeval
from memsif_ray.datasets.model import History
from memsif_ray.datasets.source import Lenient, read_records, validated

FOLDER = Path(__file__).parent / "sample"
"""Where the sample files are; package data."""

_SHARED = ("haystack_session_ids", "haystack_dates", "haystack_sessions")


class _SharedHaystack(Lenient):
    conversation_id: str
    questions: list[dict[str, Any]]
    haystack_session_ids: list[str]
    haystack_dates: list[str]
    haystack_sessions: list[list[dict[str, Any]]]


def histories() -> Iterator[History]:
    """The three histories, one at a time."""
    for history in locomo.histories(FOLDER / "two_people.json"):
        yield _renamed(history, history.conversation.conversation_id)
    for raw in read_records(FOLDER / "assistant.json"):
        yield _assistant_history(validated(_SharedHaystack, raw, "assistant.json"))


def _assistant_history(shared: _SharedHaystack) -> History:
    parts = [
        longmemeval.parse_record(record, f"assistant.json, question {number}")
        for number, record in enumerate(_records(shared))
    ]
    merged = History(
        conversation=parts[0].conversation,
        questions=tuple(replace(part.questions[0], index=index) for index, part in enumerate(parts)),
        gold={key: value for part in parts for key, value in part.gold.items()},
        strict_evidence={key: value for part in parts for key, value in part.strict_evidence.items()},
        counts={
            "sessions": parts[0].counts["sessions"],
            "integer_answers": sum(part.counts["integer_answers"] for part in parts),
        },
    )
    return _renamed(merged, shared.conversation_id)


def _records(shared: _SharedHaystack) -> Iterator[dict[str, Any]]:
    """One LongMemEval record per question: its `evidence` ids become `has_answer` on those turns."""
    haystack = {name: getattr(shared, name) for name in _SHARED}
    for question in shared.questions:
        evidence = set(question["evidence"])
        sessions = [
            [
                {**turn, "has_answer": f"{session_id}:{index}" in evidence}
                for index, turn in enumerate(turns, start=1)
            ]
            for session_id, turns in zip(shared.haystack_session_ids, shared.haystack_sessions, strict=True)
        ]
        yield {**question, **haystack, "haystack_sessions": sessions}


def _renamed(history: History, conversation_id: str) -> History:
    conversation = history.conversation
    messages = tuple(replace(message, conversation_id=conversation_id) for message in conversation.messages)
    return replace(
        history,
        conversation=replace(
            conversation, conversation_id=conversation_id, dataset="sample", messages=messages
        ),
        questions=tuple(replace(question, conversation_id=conversation_id) for question in history.questions),
    )
