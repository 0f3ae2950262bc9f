"""What every action comes to for one question: pack, answer, grade, for each budget and realisation.

Equal requests of a question are made once: the answer to a context that two actions or budgets share, and a
greedy record, which every realisation would write alike. So realisations differ in the seed of whatever is
sampled. A row says what it would cost by itself all the same.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import product
from typing import Any

from memsif_ray.clients.sharing import CountingChat, SharingChat
from memsif_ray.config import RunConfig
from memsif_ray.errors import ServiceBusy, ServiceError
from memsif_ray.evaluation.graders import accepts_by_rules
from memsif_ray.evaluation.judge import grade
from memsif_ray.evaluation.metrics import evidence_recall, locomo_score
from memsif_ray.memory.tools import Tools
from memsif_ray.methods.answering import answer_from
from memsif_ray.packing.actions import ACTIONS, Action
from memsif_ray.packing.features import features_of
from memsif_ray.packing.operators import Notes, Packed, joined, pack
from memsif_ray.runtime.toolbox import Bench
from memsif_ray.runtime.units import reason_of
from memsif_ray.types import Answer, Context, Decision, Gold, Outcome, Question

_GIVE_UP_AFTER = 3
"""Rows in a row that a busy service failed, each for its whole deadline, before the others are not tried."""
_WORTH = {Outcome.RIGHT: 1.0, Outcome.WRONG: 0.0}


@dataclass(frozen=True, slots=True)
class Case:
    """One question with its candidate notes: what all actions share.

    Attributes:
        question: What is asked.
        gold: Its reference; only grading looks at it.
        notes: Candidates, none blank, texts as they are shown.
    """

    question: Question
    gold: Gold
    notes: Notes


@dataclass(slots=True)
class Found:
    """Rows of LABELS, what packing decided, and how it went.

    Attributes:
        labels: Rows.
        decisions: Of packing.
        failed: Rows that a service failed.
        reason: Why the first of them did.
        busy: Rows in a row, up to now, for which the service was too busy.
    """

    labels: list[dict[str, Any]] = field(default_factory=list)
    decisions: list[Decision] = field(default_factory=list)
    failed: int = 0
    reason: str = ""
    busy: int = 0

    def missed(self, row: dict[str, Any], exc: ServiceError) -> None:
        """Keep a row that a service failed."""
        self.labels.append(row)
        self.failed += 1
        self.reason = self.reason or reason_of(exc)
        self.busy = self.busy + 1 if isinstance(exc, ServiceBusy) else 0


async def outcomes(case: Case, *, bench: Bench, config: RunConfig, budgets: tuple[int, ...]) -> Found:
    """All rows of one question; one that a service failed has no answer and no utility."""
    judge = SharingChat(bench.judge) if bench.judge else None
    shared = Bench(replace(bench.tools, chat=SharingChat(bench.tools.chat)), judge)
    found = Found()
    for budget, realisation, action in product(budgets, range(config.labelling.realisations), ACTIONS):
        one = _One(case, action, budget, realisation)
        if found.busy >= _GIVE_UP_AFTER:
            found.labels.append(one.row(config, error=f"not asked: {found.reason}"))
            found.failed += 1
        else:
            await one.add_to(found, bench=shared, config=config)
    return found


async def instances(
    case: Case, *, tools: Tools, evidence: str, budgets: tuple[int, ...]
) -> list[dict[str, Any]]:
    """Rows of INSTANCES: what is known at each budget before anything is generated.

    Raises:
        ServiceError: When the embedder failed.
    """
    question = case.question
    found = {message_id for note in case.notes for message_id in note.message_ids}
    rows = []
    for budget in budgets:
        features = await features_of(case.notes, question, budget=budget, tools=tools, kind="extended")
        rows.append(
            {
                "conversation_id": question.conversation_id,
                "question_id": question.question_id,
                "category": question.category.value,
                "evidence": evidence,
                "budget": budget,
                "notes": len(case.notes),
                "note_tokens": tools.tokens.count(joined(case.notes)),
                "evidence_recall": evidence_recall(case.gold.evidence, found),
                "embedder": features.embedder,
                "feature_names": features.names,
                "features": features.values,
            }
        )
    return rows


@dataclass(frozen=True, slots=True)
class _One:
    """One realisation of one action at one budget."""

    case: Case
    action: Action
    budget: int
    realisation: int

    async def add_to(self, found: Found, *, bench: Bench, config: RunConfig) -> None:
        """Do it, and write down what came of it."""
        question, chat = self.case.question, CountingChat(bench.tools.chat)
        tools = replace(bench.tools, chat=chat, seed=bench.tools.seed + self.realisation)
        known: dict[str, Any] = {}
        try:
            packed = await pack(
                self.action, self.case.notes, question=question, budget=self.budget, tools=tools
            )
            known = _packed(packed)
            answer = await answer_from(
                Context(packed.items),
                question,
                tools=tools,
                max_tokens=config.answer_max_tokens,
                temperature=config.answer_temperature,
            )
            known |= {"answer": answer.text, "error": answer.error}
            known["utility"], doubt = await self._utility(answer, bench=bench, config=config)
            known["error"] = known["error"] or doubt
        except ServiceError as exc:
            found.missed(self.row(config, **known | {"error": reason_of(exc)}), exc)
            return
        found.busy = 0
        found.decisions += packed.decisions
        used = {"prompt_tokens": chat.prompt_tokens, "completion_tokens": chat.completion_tokens}
        found.labels.append(self.row(config, **known, calls=chat.calls, **used))

    async def _utility(self, answer: Answer, *, bench: Bench, config: RunConfig) -> tuple[float | None, str]:
        """In [0, 1]; or None, and why nobody could tell."""
        gold, question = self.case.gold, self.case.question
        if bench.judge is not None:
            scope = bench.tools.scope_of(question.question_id)
            verdict = await grade(
                question, gold, answer, judge=bench.judge, scope=scope, judging=config.judging
            )
            worth = _WORTH.get(verdict.outcome)
            return worth, verdict.reason if worth is None else ""
        # In a thread: the first score loads NLTK, which takes a second or more.
        if config.labelling.utility == "f1":
            return await asyncio.to_thread(locomo_score, answer.text, gold, question.category), ""
        accepted = await asyncio.to_thread(accepts_by_rules, answer.text or "", gold, question.category)
        return (None, "no rule applies") if accepted is None else (float(accepted), "")

    def row(self, config: RunConfig, **known: Any) -> dict[str, Any]:
        """A row of LABELS; what is not known is empty."""
        by_judge = config.labelling.utility == "judge"
        return {
            "conversation_id": self.case.question.conversation_id,
            "question_id": self.case.question.question_id,
            "budget": self.budget,
            "action": self.action.value,
            "realisation": self.realisation,
            "grader": config.judging.label if by_judge else config.labelling.utility,
            **_NOTHING,
            **known,
        }


_NOTHING: dict[str, Any] = {
    "text": "",
    "message_ids": (),
    "tokens": 0,
    "flag": "",
    "shortened": False,
    "fallbacks": 0,
    "answer": None,
    "error": "",
    "utility": None,
    "calls": 0,
    "prompt_tokens": None,
    "completion_tokens": None,
}


def _packed(packed: Packed) -> dict[str, Any]:
    return {
        "text": packed.text,
        "message_ids": tuple(_sources(packed)),
        "tokens": packed.tokens,
        "flag": packed.flag.value,
        "shortened": packed.shortened,
        "fallbacks": len(packed.decisions),
    }


def _sources(packed: Packed) -> Iterator[str]:
    yield from dict.fromkeys(source for item in packed.items for source in item.message_ids)
