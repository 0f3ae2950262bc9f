"""Conversations as a run keeps them: workers read one at a time, and need no dataset file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import pyarrow as pa

from memsif_ray.datasets import Dataset
from memsif_ray.schemas import CONVERSATIONS, GOLD, MESSAGES, QUESTIONS
from memsif_ray.storage.files import read_json, write_json
from memsif_ray.storage.runs import RunFolder
from memsif_ray.storage.tables import decode, encode
from memsif_ray.types import Conversation, Gold, Message, Question


@dataclass(frozen=True, slots=True)
class Inputs:
    """One conversation, its questions in file order, and their references by question id."""

    conversation: Conversation
    questions: tuple[Question, ...]
    gold: Mapping[str, Gold]


class Listed(NamedTuple):
    """One conversation of a run, and its size."""

    conversation_id: str
    messages: int
    questions: int


def write_inputs(folder: RunFolder, dataset: Dataset) -> None:
    """Write every conversation, then the list of them."""
    questions: defaultdict[str, list[Question]] = defaultdict(list)
    for question in dataset.questions:
        questions[question.conversation_id].append(question)
    listed = []
    for conversation in dataset.conversations:
        asked = questions[conversation.conversation_id]
        tables = _tables(conversation, asked, [dataset.gold[question.question_id] for question in asked])
        folder.inputs(conversation.conversation_id).write(tables, {})
        listed.append([conversation.conversation_id, len(conversation.messages), len(asked)])
    write_json(folder.path / "inputs.json", listed)


def list_inputs(folder: RunFolder) -> tuple[Listed, ...] | None:
    """The conversations of a run in dataset order; None unless all of them are there."""
    listed = tuple(Listed(*entry) for entry in read_json(folder.path / "inputs.json") or ())
    whole = all(folder.inputs(entry.conversation_id).about() is not None for entry in listed)
    return listed if listed and whole else None


def read_inputs(folder: RunFolder, conversation_id: str) -> Inputs:
    """One conversation of a run.

    Raises:
        DataError: When a file is not the one that was written.
    """
    sealed = folder.inputs(conversation_id)
    about = sealed.read("conversations").to_pylist()[0]
    conversation = Conversation(
        conversation_id=conversation_id,
        dataset=about["dataset"],
        speakers=tuple(about["speakers"]),
        messages=tuple(decode(sealed.read("messages"), Message)),
    )
    gold = {reference.question_id: reference for reference in decode(sealed.read("gold"), Gold)}
    return Inputs(conversation, tuple(decode(sealed.read("questions"), Question)), gold)


def _tables(
    conversation: Conversation, questions: list[Question], gold: list[Gold]
) -> dict[str, list[pa.Table]]:
    return {
        "conversations": [encode([conversation], CONVERSATIONS)],
        "messages": [encode(conversation.messages, MESSAGES)],
        "questions": [encode(questions, QUESTIONS)],
        "gold": [encode(gold, GOLD)],
    }
