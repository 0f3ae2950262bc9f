"""How far apart the gold evidence of a question lies, and which questions that makes non-contiguous.

Temporal Evidence Dispersion (TED) and the subset of Non-Contiguous Evidence (NCE): MemSIF, Appendix A.3.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import fmean

from memsif_ray.datasets import Dataset
from memsif_ray.types import Category, Question

NCE_TED = 0.3
"""TED from which evidence counts as non-contiguous."""
_NEAR_TED = 0.1


class Reading(StrEnum):
    """Which evidence ids of a file count."""

    STRICT = "strict"
    """Entries that are exactly one valid message id: reproduces the paper's numbers."""
    REPAIRED = "repaired"
    """Every id that can be made out, as evidence recall counts them everywhere else."""


@dataclass(frozen=True, slots=True)
class EvidenceSpread:
    """One scored question: a row of [`EVIDENCE_SPREADS`][memsif_ray.schemas.EVIDENCE_SPREADS].

    Attributes:
        reading: Which ids count.
        message_ids: Distinct gold evidence.
        length: Messages of the conversation.
        span: Positions from the first to the last evidence; None when it takes two ids to have one.
        ted: `span / (length - 1)`, in [0, 1]; None likewise.
        reason: Why there is no `ted`: `no_evidence` or `one_id`; "" when there is.
        nce: Whether the question belongs to the subset.
    """

    conversation_id: str
    question_id: str
    category: Category
    reading: Reading
    message_ids: tuple[str, ...]
    length: int
    span: int | None
    ted: float | None
    reason: str
    nce: bool


@dataclass(frozen=True, slots=True)
class SpreadSummary:
    """All questions of one reading together.

    Attributes:
        questions: Scored ones, adversarial questions left out.
        dispersed: Those with at least two ids, hence a TED.
        bins: How many of these in [0, 0.1), [0.1, 0.3) and [0.3, 1].
        nce: The last of `bins` by category, in the order of `Category`.
        mean_ted: Over the NCE subset; None when it is empty.
        mean_span: Likewise, in positions.
    """

    questions: int
    dispersed: int
    bins: tuple[int, int, int]
    nce: Mapping[Category, int]
    mean_ted: float | None
    mean_span: float | None


@dataclass(frozen=True, slots=True)
class Change:
    """A question that the two readings see differently.

    Attributes:
        effect: `enters` or `leaves` the subset when ids are repaired, `gains_ted` (it had one id at most),
            or `ids` when only its ids change.
    """

    question_id: str
    strict: EvidenceSpread
    repaired: EvidenceSpread
    effect: str


def dispersion(positions: Sequence[int], length: int) -> float:
    """TED: the share of a history that lies between the first and the last evidence (Eq. 5).

    Args:
        positions: Of the evidence, at least one.
        length: Messages of the history; where there is only one, nothing is apart.
    """
    return (max(positions) - min(positions)) / (length - 1) if length > 1 else 0.0


def is_non_contiguous(positions: Sequence[int], length: int) -> bool:
    """Whether evidence at these distinct positions makes a question part of the NCE subset."""
    return len(positions) > 1 and dispersion(positions, length) >= NCE_TED


def evidence_spreads(dataset: Dataset, reading: Reading) -> list[EvidenceSpread]:
    """One value per scored question, in the dataset's order."""
    positions = {
        conversation.conversation_id: {m.message_id: m.position for m in conversation.messages}
        for conversation in dataset.conversations
    }
    repaired = {name: gold.evidence for name, gold in dataset.gold.items()}
    evidence = dataset.strict_evidence if reading is Reading.STRICT else repaired
    return [
        _spread(question, evidence[question.question_id], positions[question.conversation_id], reading)
        for question in dataset.questions
        if question.category is not Category.ADVERSARIAL
    ]


def summarise(spreads: Sequence[EvidenceSpread]) -> SpreadSummary:
    """Counts and means of one reading."""
    teds = [spread.ted for spread in spreads if spread.ted is not None]
    subset = [spread for spread in spreads if spread.nce]
    categories = Counter(spread.category for spread in subset)
    near = sum(ted < _NEAR_TED for ted in teds)
    return SpreadSummary(
        questions=len(spreads),
        dispersed=len(teds),
        bins=(near, len(teds) - near - len(subset), len(subset)),
        nce={c: categories[c] for c in Category if c is not Category.ADVERSARIAL},
        mean_ted=fmean(spread.ted or 0.0 for spread in subset) if subset else None,
        mean_span=fmean(spread.span or 0 for spread in subset) if subset else None,
    )


def changes(strict: Sequence[EvidenceSpread], repaired: Sequence[EvidenceSpread]) -> list[Change]:
    """What repairing the ids changes; both readings of the same questions, in the same order."""
    return [
        Change(one.question_id, one, other, _effect(one, other))
        for one, other in zip(strict, repaired, strict=True)
        if one.message_ids != other.message_ids
    ]


def _spread(
    question: Question, ids: tuple[str, ...], placed: Mapping[str, int], reading: Reading
) -> EvidenceSpread:
    at, length = [placed[i] for i in ids], len(placed)
    apart = len(ids) > 1
    return EvidenceSpread(
        conversation_id=question.conversation_id,
        question_id=question.question_id,
        category=question.category,
        reading=reading,
        message_ids=ids,
        length=length,
        span=max(at) - min(at) if apart else None,
        ted=dispersion(at, length) if apart else None,
        reason="" if apart else "one_id" if ids else "no_evidence",
        nce=is_non_contiguous(at, length),
    )


def _effect(strict: EvidenceSpread, repaired: EvidenceSpread) -> str:
    if strict.nce != repaired.nce:
        return "enters" if repaired.nce else "leaves"
    return "gains_ted" if strict.ted is None and repaired.ted is not None else "ids"
