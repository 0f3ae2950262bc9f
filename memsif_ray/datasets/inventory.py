"""What a file holds, counted while its histories pass by."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from memsif_ray.datasets.model import History, LoadReport, Repair
from memsif_ray.datasets.source import KNOWN_RELEASES, digest
from memsif_ray.errors import ConfigError, DataError
from memsif_ray.text import is_blank
from memsif_ray.types import Category

_SHOWN_IDS = 50


class Inventory:
    """One reading of a file serves the report, the checks of ids and the selection."""

    def __init__(self, dataset: str, path: Path) -> None:
        """Nothing counted yet."""
        self._dataset = dataset
        self._path = path
        self._counts: Counter[str] = Counter()
        self._categories: Counter[Category] = Counter()
        self._repairs: list[Repair] = []
        self._known: dict[str, dict[str, None]] = {"conversation": {}, "question": {}}

    def watch(self, histories: Iterator[History]) -> Iterator[History]:
        """Pass histories on and count them.

        Raises:
            DataError: When two have the same id.
        """
        for history in histories:
            conversation_id = history.conversation.conversation_id
            if conversation_id in self._known["conversation"]:
                raise DataError(f"{self._path}: conversation {conversation_id} occurs more than once")
            self._known["conversation"][conversation_id] = None
            self._known["question"].update(dict.fromkeys(history.gold))
            self._counts.update(_common_counts(history))
            self._counts.update(history.counts)
            self._categories.update(question.category for question in history.questions)
            self._repairs.extend(history.repairs)
            yield history

    def refuse_unknown(self, kind: str, wanted: Sequence[str]) -> None:
        """Check ids that a configuration names.

        Args:
            kind: `conversation` or `question`.
            wanted: The ids.

        Raises:
            ConfigError: Listing the known ids, when one of `wanted` did not pass by.
        """
        known = list(self._known[kind])
        unknown = [name for name in wanted if name not in self._known[kind]]
        if unknown:
            more = f" and {len(known) - _SHOWN_IDS} more" if len(known) > _SHOWN_IDS else ""
            shown = ", ".join(known[:_SHOWN_IDS]) + more
            raise ConfigError(f"unknown {kind} {', '.join(unknown)}; known are {shown}")

    def report(self) -> LoadReport:
        """Everything counted so far, with the file's digest."""
        sha256 = digest(self._path)
        return LoadReport(
            dataset=self._dataset,
            source=self._path.name,
            sha256=sha256,
            release=KNOWN_RELEASES.get(sha256),
            counts=dict(self._counts),
            categories={category: self._categories[category] for category in Category},
            repairs=tuple(self._repairs),
        )


def _common_counts(history: History) -> dict[str, int]:
    messages = history.conversation.messages
    gold = history.gold.values()
    scored = [question for question in history.questions if question.category is not Category.ADVERSARIAL]
    return {
        "conversations": 1,
        "messages": len(messages),
        "blank_messages": sum(is_blank(message.content) for message in messages),
        "captions": sum(message.caption is not None for message in messages),
        "questions": len(history.questions),
        "scored_questions": len(scored),
        "recall_questions": sum(bool(reference.evidence) for reference in gold),
        "abstain_questions": sum(reference.abstain for reference in gold),
        "traps": sum(reference.trap is not None for reference in gold),
        "evidence_distinct": sum(len(reference.evidence) for reference in gold),
    }
