"""What is lost when memory keeps only what seemed salient (MemSIF, Appendix A.5).

The gold evidence of a question is ranked by write-time salience, and the best `c` utterances are the memory.
Each utterance of the evidence is a gold fact: can it still be told from that memory? And is the question
still answered? Judges see neither what made a memory nor its size, and its lines in another order each vote.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from memsif_ray.diagnostics.sampling import SEED, seeded_sample
from memsif_ray.diagnostics.voting import Ballot, decide
from memsif_ray.errors import ReplyInvalid
from memsif_ray.memory.tools import Tools
from memsif_ray.ports import ChatModel
from memsif_ray.prompts.asking import ask
from memsif_ray.types import Answer, Category, Question

CAPACITIES: tuple[int | None, ...] = (None, 2, 4, 8)
"""Utterances that a memory keeps; None is the raw evidence."""
PROMPTS = ("answer", "diagnostics/recovery", "diagnostics/correctness")


@dataclass(frozen=True, slots=True)
class GoldFact:
    """One utterance of a question's evidence, as a dated line; `salience` is None when it is missing."""

    message_id: str
    line: str
    salience: int | None


@dataclass(frozen=True, slots=True)
class Case:
    """A question to be answered from what is kept.

    Attributes:
        question: What is asked.
        reference: Its answer; only the grade of an answer looks at it.
        facts: The evidence in chronological order, not empty.
    """

    question: Question
    reference: str
    facts: tuple[GoldFact, ...]


@dataclass(frozen=True, slots=True)
class Recovery:
    """Whether a fact can be told from a memory: a row of [`RECOVERIES`][memsif_ray.schemas.RECOVERIES].

    Attributes:
        capacity: Utterances that the memory keeps; None for the raw evidence.
        message_id: The fact.
        label: `FULL`, `PARTIAL` or `NONE`; None when it is missing.
        reason: Then, why.
        votes: As in [`Ballot`][memsif_ray.diagnostics.voting.Ballot].
    """

    conversation_id: str
    question_id: str
    category: Category
    capacity: int | None
    message_id: str
    label: str | None
    reason: str
    votes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class CompactedAnswer:
    """An answer from a memory: a row of [`COMPACTED_ANSWERS`][memsif_ray.schemas.COMPACTED_ANSWERS].

    Attributes:
        capacity: As in `Recovery`.
        kept: The memory, in chronological order.
        dropped: Utterances of the evidence that it lacks.
        answer: None when there is none.
        label: `CORRECT`, `PARTIAL` or `WRONG`; None when it is missing.
        reason: Then, why.
        votes: As in `Recovery`.
    """

    conversation_id: str
    question_id: str
    category: Category
    capacity: int | None
    kept: tuple[str, ...]
    dropped: int
    answer: str | None
    label: str | None
    reason: str
    votes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answering:
    """How answers are generated: as in every benchmark run."""

    max_tokens: int
    temperature: float


def retained(facts: Sequence[GoldFact], capacity: int | None) -> tuple[GoldFact, ...] | None:
    """The most salient `capacity` facts, in the order given; of equal ones the earlier.

    None when something has to go, and a missing salience leaves open what.
    """
    if capacity is None or len(facts) <= capacity:
        return tuple(facts)
    if any(fact.salience is None for fact in facts):
        return None
    ranked = sorted(facts, key=lambda fact: -(fact.salience or 0))[:capacity]
    return tuple(fact for fact in facts if fact in ranked)


async def examine(
    case: Case, *, tools: Tools, judge: ChatModel, answering: Answering
) -> tuple[list[Recovery], list[CompactedAnswer]]:
    """Judge every fact and answer the question, from each memory.

    Memories that keep the same are one memory: it is looked at once, and the rows say so of each.

    Raises:
        ServiceError: When a model's endpoint failed.
    """
    seen: dict[tuple[GoldFact, ...], _Findings] = {}
    recoveries: list[Recovery] = []
    answers: list[CompactedAnswer] = []
    for capacity in CAPACITIES:
        memory = retained(case.facts, capacity)
        if memory is None:
            found = _Findings.unknown(case)
        else:
            if memory not in seen:
                seen[memory] = await _look(case, memory, tools=tools, judge=judge, answering=answering)
            found = seen[memory]
        recoveries += found.recoveries(case, capacity)
        answers.append(found.compacted(case, capacity, memory or ()))
    return recoveries, answers


@dataclass(frozen=True, slots=True)
class _Findings:
    """What one memory comes to: a ballot per fact, the answer, and its grade."""

    facts: Sequence[Ballot]
    answer: str | None
    grade: Ballot

    @classmethod
    def unknown(cls, case: Case) -> _Findings:
        nothing = Ballot(None, "salience_missing")
        return cls([nothing] * len(case.facts), None, nothing)

    def recoveries(self, case: Case, capacity: int | None) -> list[Recovery]:
        return [
            Recovery(
                **_whose(case, capacity),
                message_id=fact.message_id,
                label=ballot.label,
                reason=ballot.reason,
                votes=ballot.votes,
            )
            for fact, ballot in zip(case.facts, self.facts, strict=True)
        ]

    def compacted(self, case: Case, capacity: int | None, memory: Sequence[GoldFact]) -> CompactedAnswer:
        return CompactedAnswer(
            **_whose(case, capacity),
            kept=tuple(fact.message_id for fact in memory),
            dropped=len(case.facts) - len(memory),
            answer=self.answer,
            label=self.grade.label,
            reason=self.grade.reason,
            votes=self.grade.votes,
        )


def _whose(case: Case, capacity: int | None) -> dict[str, Any]:
    question = case.question
    return {
        "conversation_id": question.conversation_id,
        "question_id": question.question_id,
        "category": question.category,
        "capacity": capacity,
    }


async def _look(
    case: Case, memory: Sequence[GoldFact], *, tools: Tools, judge: ChatModel, answering: Answering
) -> _Findings:
    question = case.question
    scope = tools.scope_of(question.question_id)
    lines = {fact.message_id: fact.line for fact in memory}

    def presented(fact: GoldFact, vote: int) -> dict[str, Any]:
        order = seeded_sample(lines, len(lines), seed=SEED + vote)
        return {
            "memory": [lines[name] for name in order],
            "question": question.text,
            "fact": fact.line,
        }

    ballots = [
        await decide(
            judge,
            "diagnostics/recovery",
            partial(presented, fact),
            stage="recovery",
            scope=scope,
        )
        for fact in case.facts
    ]
    answer = await _answer(question, list(lines.values()), tools=tools, answering=answering)
    if answer.text is None:
        return _Findings(ballots, None, Ballot(None, f"no_answer: {answer.error}"))
    shown = {"question": question.text, "reference": case.reference, "candidate": answer.text}
    grade = await decide(judge, "diagnostics/correctness", lambda _: shown, stage="correctness", scope=scope)
    return _Findings(ballots, answer.text, grade)


async def _answer(question: Question, lines: Sequence[str], *, tools: Tools, answering: Answering) -> Answer:
    """From the one answer prompt that all compared methods share."""
    try:
        text = await ask(
            tools.chat,
            "answer",
            stage="answer",
            scope=tools.scope_of(question.question_id),
            max_tokens=answering.max_tokens,
            temperature=answering.temperature,
            seed=tools.seed,
            question=question.text,
            asked_at=question.asked_at and f"{question.asked_at:%A, %d %B %Y}",
            context="\n".join(lines),
        )
    except ReplyInvalid as exc:
        return Answer(question.question_id, None, exc.reason)
    return Answer(question.question_id, text)
