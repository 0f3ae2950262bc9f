"""Statistics of a dataset as in the paper's Table 12 (MemSIF, Appendix B)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean

from memsif_ray.datasets import Dataset
from memsif_ray.ports import TokenCounter
from memsif_ray.types import Category, Conversation


@dataclass(frozen=True, slots=True)
class HistoryStatistics:
    """One conversation: a row of [`HISTORY_STATISTICS`][memsif_ray.schemas.HISTORY_STATISTICS].

    Attributes:
        messages: All of them, blank ones too.
        sessions: Those with at least one message.
        tokens: Of what was said, without speakers and captions, each message by itself.
        first: Date of the first session; None without messages.
        last: Of the last one.
        days: Whole days between the two.
        questions: About this conversation, adversarial ones left out.
        reason: Why there is no date: `no_messages`; "" when there is.
    """

    conversation_id: str
    messages: int
    sessions: int
    tokens: int
    first: datetime | None
    last: datetime | None
    days: int | None
    questions: int
    reason: str


@dataclass(frozen=True, slots=True)
class Extent:
    """Mean, least and most of one number; all None where there was nothing to measure."""

    mean: float | None
    low: int | None
    high: int | None


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """A dataset as one column of the table.

    Attributes:
        conversations: Those with at least one scored question.
        left_out: Those without (of LongMemEval, whose only question is to be abstained from).
        sessions: Per conversation.
        tokens: Per conversation.
        days: Per conversation that has dates.
        categories: Scored questions by category, in the order of `Category`.
    """

    conversations: int
    left_out: int
    sessions: Extent
    tokens: Extent
    days: Extent
    categories: Mapping[Category, int]

    @property
    def questions(self) -> int:
        """All scored questions."""
        return sum(self.categories.values())


def history_statistics(dataset: Dataset, tokens: TokenCounter) -> list[HistoryStatistics]:
    """One value per conversation, in the dataset's order."""
    scored = Counter(q.conversation_id for q in dataset.questions if q.category is not Category.ADVERSARIAL)
    return [_measured(one, scored[one.conversation_id], tokens) for one in dataset.conversations]


def summarise(dataset: Dataset, histories: Sequence[HistoryStatistics]) -> CorpusSummary:
    """All conversations with scored questions together."""
    asked = [history for history in histories if history.questions]
    counts = Counter(question.category for question in dataset.questions)
    return CorpusSummary(
        conversations=len(asked),
        left_out=len(histories) - len(asked),
        sessions=_extent([history.sessions for history in asked]),
        tokens=_extent([history.tokens for history in asked]),
        days=_extent([history.days for history in asked if history.days is not None]),
        categories={c: counts[c] for c in Category if c is not Category.ADVERSARIAL},
    )


def _measured(conversation: Conversation, questions: int, tokens: TokenCounter) -> HistoryStatistics:
    messages = conversation.messages
    dates = [message.timestamp for message in messages]
    first, last = (min(dates), max(dates)) if dates else (None, None)
    return HistoryStatistics(
        conversation_id=conversation.conversation_id,
        messages=len(messages),
        sessions=len({message.session for message in messages}),
        tokens=sum(tokens.count(message.text) for message in messages),
        first=first,
        last=last,
        days=(last - first).days if first and last else None,
        questions=questions,
        reason="" if dates else "no_messages",
    )


def _extent(values: Sequence[int]) -> Extent:
    return Extent(fmean(values), min(values), max(values)) if values else Extent(None, None, None)
