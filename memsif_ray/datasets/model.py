"""What a loader hands over: conversations, questions, references kept apart, and what was repaired."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from memsif_ray.types import Category, Conversation, Gold, Question


@dataclass(frozen=True, slots=True)
class Repair:
    """One irregular evidence entry and what became of it.

    Attributes:
        conversation_id: Where it was found.
        question_index: Index of the question in its list.
        raw: The entry as the file has it; "" for `no_evidence`.
        ids: The ids kept for it.
        kind: `split` (several ids in one string), `rewritten` (another spelling of one id), `absent`
            (well-formed, but no such message), `unreadable`, `duplicate` or `no_evidence`.
    """

    conversation_id: str
    question_index: int
    raw: str
    ids: tuple[str, ...]
    kind: str


@dataclass(frozen=True, slots=True)
class History:
    """One conversation with its questions: the unit that loaders yield and methods work on.

    Attributes:
        conversation: The messages.
        questions: In file order.
        gold: Reference per question id.
        strict_evidence: Per question id, the entries that are exactly one valid message id, unrepaired.
            The diagnostics of MemSIF's Appendix A count only these.
        counts: The loader's own counts, such as `integer_answers`.
        repairs: Evidence entries that were not simply one valid id.
    """

    conversation: Conversation
    questions: tuple[Question, ...]
    gold: Mapping[str, Gold]
    strict_evidence: Mapping[str, tuple[str, ...]]
    counts: Mapping[str, int]
    repairs: tuple[Repair, ...] = ()


@dataclass(frozen=True, slots=True)
class LoadReport:
    """What a file turned out to be, before any selection.

    Attributes:
        dataset: `locomo`, `longmemeval` or `sample`.
        source: Name of the file or folder.
        sha256: Of the file; of a folder, over the digests of its files in name order.
        release: Name of the published release with this digest; None for any other file.
        counts: Totals by name: `conversations`, `sessions`, `messages`, `questions`, `scored_questions`
            (all but adversarial ones), `recall_questions` (those with gold evidence) … and the loader's own.
        categories: Questions per category, in the order of `Category`.
        repairs: Every irregular evidence entry.
    """

    dataset: str
    source: str
    sha256: str
    release: str | None
    counts: Mapping[str, int]
    categories: Mapping[Category, int]
    repairs: tuple[Repair, ...]


@dataclass(frozen=True, slots=True)
class Dataset:
    """The selected conversations and questions, with the report on the whole file.

    `questions` follow the order of `conversations`. Only `evaluation` may read `gold` and
    `strict_evidence`, both keyed by question id.
    """

    name: str
    conversations: tuple[Conversation, ...]
    questions: tuple[Question, ...]
    gold: Mapping[str, Gold]
    strict_evidence: Mapping[str, tuple[str, ...]]
    report: LoadReport
