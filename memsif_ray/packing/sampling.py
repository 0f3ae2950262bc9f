"""Which questions a labelling job asks: drawn without a look at any outcome."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from memsif_ray.datasets.model import Dataset
from memsif_ray.packing.folds import partition
from memsif_ray.types import Category, Question

_THIRDS = ("short", "middle", "long")


def askable(dataset: Dataset) -> tuple[Question, ...]:
    """Questions with a reference answer and gold evidence; there is nothing to pack for the others."""
    return tuple(
        question
        for question in dataset.questions
        if question.category is not Category.ADVERSARIAL
        and dataset.gold[question.question_id].evidence
        and dataset.gold[question.question_id].answer.strip()
    )


def drawn(dataset: Dataset, size: int | None, *, seed: int) -> tuple[Question, ...]:
    """`size` askable questions, in the order of the dataset; all of them when there are no more, or for None.

    Each type, and in it short, middle and long evidence, has its share, as near as whole questions allow: the
    paper's LoCoMo sample is stratified by the length of evidence, too (OAS, 4).
    """
    asked = askable(dataset)
    if size is None or size >= len(asked):
        return asked
    strata = _strata(asked, evidence_lengths(dataset))
    (kept,) = partition(list(strata), (size,), seed=seed, strata=strata)
    return tuple(question for question in asked if question.question_id in set(kept))


def evidence_lengths(dataset: Dataset) -> dict[str, int]:
    """Characters of the gold evidence of each question: known before any tokenizer is."""
    said = {
        (conversation.conversation_id, message.message_id): len(message.content)
        for conversation in dataset.conversations
        for message in conversation.messages
    }
    return {
        question.question_id: sum(
            said.get((question.conversation_id, message_id), 0)
            for message_id in dataset.gold[question.question_id].evidence
        )
        for question in dataset.questions
    }


def _strata(questions: Sequence[Question], lengths: Mapping[str, int]) -> dict[str, str]:
    bounds = np.quantile([lengths[question.question_id] for question in questions], [1 / 3, 2 / 3])
    third = {q.question_id: int(np.searchsorted(bounds, lengths[q.question_id])) for q in questions}
    return {q.question_id: f"{q.category}/{_THIRDS[third[q.question_id]]}" for q in questions}
